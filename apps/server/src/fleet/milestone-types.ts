import type { MilestoneType } from '@muster/contracts/words';
import { EVENT_TYPES } from '@muster/engine';

/**
 * The milestone of an action's transition, and its effect on the device's expiry: `toExpiry` days of the action are
 * added to the real one, `toProjection` to the projected one. A success moves the days from the projection to the real
 * expiry, so the projection stays; every other end takes them back.
 */

const NEXT: Partial<Record<keyof typeof EVENT_TYPES, MilestoneType>> = {
  SENT: 'sent',
  REDELIVERED: 'resent',
  FAILED: 'retrying',
  TIMEOUT: 'retrying',
  NOT_NOW: 'notNow',
  RELEASED: 'released',
  CANCEL_REQUESTED: 'cancelRequested',
  MOVED: 'movedToFront',
  MADE_DUE: 'madeDue',
  REDRIVEN: 'redriven',
};

/**
 * For a row `t` of transitions, in SQL. Null: an assignment writes its own, because only it knows the caller. An action
 * created at hand-out was sent.
 */
export const typeOf = (t: string) => `case
        when ${t}.events[1] = ${EVENT_TYPES.CREATED} then case when ${t}.state = 'claimed' then 'sent' end
        when ${t}.state = 'succeeded' then 'done'
        when ${t}.state in ('failed', 'expired') then ${t}.state
        when ${t}.state = 'cancelled' then case when ${t}.events[1] = ${EVENT_TYPES.SUPERSEDED} then 'superseded' else 'cancelled' end
        else case ${t}.events[1] ${Object.entries(NEXT)
          .map(([event, type]) => `when ${EVENT_TYPES[event as keyof typeof EVENT_TYPES]} then '${type}'`)
          .join(' ')} end
      end`;

export const toExpiry = (type: string) => `(${type} = 'done')::int`;
export const toProjection = (type: string) =>
  `case when ${type} in ('failed', 'expired', 'cancelled', 'superseded') then -1 when ${type} = 'redriven' then 1 else 0 end`;
