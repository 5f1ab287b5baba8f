import { MusterError } from '../../errors.ts';
import type { RedriveRule } from '../../redriving/redriving.ts';
import type { ControlQueries } from './queries.ts';
import { CHANNEL } from './wire.ts';

/** What was for a service that is deleted, or whose host is, is for nobody. */
export function createRedriveRule(queries: ControlQueries): RedriveRule {
  return async (tx, tenantId, letters) => {
    const own = letters.filter(({ channel }) => channel === CHANNEL);
    if (own.length === 0) return new Map();
    const there = await queries.keepServices(
      tx,
      tenantId,
      own.map(({ laneId }) => laneId),
    );
    return new Map(own.flatMap(({ id, laneId }) => (there.has(laneId) ? [] : [[id, gone()] as const])));
  };
}

const gone = () =>
  new MusterError(
    'MUSTER_TARGET_GONE',
    409,
    'Its service is deleted. Nobody could have this action; it stays a dead letter.',
  );
