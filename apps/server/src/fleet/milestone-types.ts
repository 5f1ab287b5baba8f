import type { MilestoneType } from '@muster/contracts/words';
import type { Transition } from '@muster/engine';

/**
 * What a transition of an action means in the life of its device, and what it does to the device's expiry: `toExpiry`
 * days of the action are added to the real one, `toProjection` to the projected one. A success moves the days from the
 * projection to the real expiry, so the projection stays; every other end takes them back.
 */

export interface Meaning {
  readonly type: MilestoneType;
  readonly toExpiry: 0 | 1;
  readonly toProjection: -1 | 0 | 1;
}

const step = (type: MilestoneType): Meaning => ({ type, toExpiry: 0, toProjection: 0 });
const takenBack = (type: MilestoneType): Meaning => ({ type, toExpiry: 0, toProjection: -1 });

/** Null: an assignment writes its own milestone, because only it knows who assigned what. */
export function meaningOf({ events, state }: Pick<Transition, 'events' | 'state'>): Meaning | null {
  const [first] = events;
  if (first === 'CREATED' || first === undefined) return null;
  if (state === 'succeeded') return { type: 'done', toExpiry: 1, toProjection: 0 };
  if (state === 'failed') return takenBack('failed');
  if (state === 'expired') return takenBack('expired');
  if (state === 'cancelled') return takenBack(first === 'SUPERSEDED' ? 'superseded' : 'cancelled');
  switch (first) {
    case 'SENT':
      return step('sent');
    case 'REDELIVERED':
      return step('resent');
    case 'FAILED':
    case 'TIMEOUT':
      return step('retrying');
    case 'NOT_NOW':
      return step('notNow');
    case 'RELEASED':
      return step('released');
    case 'CANCEL_REQUESTED':
      return step('cancelRequested');
    case 'MOVED':
      return step('movedToFront');
    case 'REDRIVEN':
      return { type: 'redriven', toExpiry: 0, toProjection: 1 };
    default:
      return null;
  }
}
