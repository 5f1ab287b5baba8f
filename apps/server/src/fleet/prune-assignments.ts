import { type Duty, dutyRun } from '@muster/engine';
import type { AssignmentKey, MilestoneLog } from './milestone-log.ts';

/**
 * Deletes the door's data of pruned actions. It goes round all assignments, some in each run, so that no run takes
 * longer the more are kept: a look at all of them takes 0.3 s per million (measured with one million in memory), and a
 * statement of housekeeping is cancelled after 45 s. Once round a million takes ten minutes, seventy million half a day.
 * Only this node remembers the place; another leader begins anew.
 */
const EVERY_MINUTE = 60_000;
const MOST_LOOKED_AT = 100_000;
const START: AssignmentKey = { tenantId: 0, actionId: '0' };

export function createPruneAssignments(log: MilestoneLog, mostLookedAt = MOST_LOOKED_AT): Duty {
  /** On a distributed database one for each tenant. */
  const places = new Map<number | undefined, AssignmentKey>();
  return {
    name: 'prune-assignments',
    everyMs: EVERY_MINUTE,
    byIndex: true,
    async runOnce(client, { tenantId } = {}) {
      const after = places.get(tenantId) ?? START;
      const { pruned, last } = await log.pruneAssignments(client, after, mostLookedAt);
      places.set(tenantId, last ?? START);
      return dutyRun(pruned, Number.POSITIVE_INFINITY);
    },
  };
}
