import { MusterError } from '../../errors.ts';
import { nobodyCouldHave, type RedriveRule, type RedriveWish } from '../../redriving/redriving.ts';
import type { ControlQueries } from './queries.ts';
import { CHANNEL } from './wire.ts';

/** An action whose service or host was deleted can no longer be executed. */
export function createRedriveRule(queries: ControlQueries): RedriveRule {
  return async (tx, tenantId, letters, wish) => {
    const own = letters.filter(({ channel }) => channel === CHANNEL);
    if (own.length === 0) return new Map();
    const there = await queries.keepServices(
      tx,
      tenantId,
      own.map(({ laneId }) => laneId),
    );
    return new Map(own.flatMap(({ id, laneId }) => (there.has(laneId) ? [] : [[id, gone(wish)] as const])));
  };
}

const gone = (wish: RedriveWish) =>
  new MusterError('MUSTER_TARGET_GONE', 409, nobodyCouldHave('The service was deleted.', wish));
