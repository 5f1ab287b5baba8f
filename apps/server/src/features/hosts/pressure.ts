import { isFull, type LongPolls } from '../../http/long-poll.ts';
import { hostError } from './errors.ts';
import { LONGEST_WAIT } from './poll-parameters.ts';

/**
 * What happens when too many requests wait, and the advice to agents for their next poll. With wake-ups the longest
 * wait is the cheapest poll, so that is the advice until the node fills up: then waits get shorter with pauses between
 * them, which frees connections before any agent has to be refused.
 */
export const NEXT_POLL = 'muster-next-poll';
const FILLING = 0.8;
const SHORTER_WAIT = 10;
const LONGEST_PAUSE = 15;

export type Pressure = ReturnType<typeof createPressure>;

export function createPressure(
  longPolls: Pick<LongPolls, 'count'>,
  mostWaiting: number,
  random = Math.random,
) {
  return {
    /** There was nothing to do and no place to wait. */
    refuse(error: unknown): never {
      if (!isFull(error)) throw error;
      throw hostError(
        'MUSTER_CONTROL_OVERLOADED',
        'Too many requests are waiting at this node. Retry after Retry-After.',
        // spread, so agents that were refused together do not return together
        { retryAfter: 5 + Math.floor(random() * 11) },
      );
    },

    /** `after=<seconds>, wait=<seconds>`: how long to pause, and how long to wait in the next poll. */
    advice(): string {
      if (longPolls.count < mostWaiting * FILLING) return `after=0, wait=${LONGEST_WAIT}`;
      return `after=${1 + Math.floor(random() * LONGEST_PAUSE)}, wait=${SHORTER_WAIT}`;
    },
  };
}
