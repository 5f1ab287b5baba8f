import type { Engine } from '@muster/engine';
import { MusterError } from '../../errors.ts';
import type { Caller } from '../../tokens/caller.ts';
import { actionError } from './errors.ts';
import type { HandedToWorkers } from './handed.ts';
import { GENERIC } from './lanes.ts';

/** Worker tokens may be restricted to named lanes: `{lanes: ["printer-7"]}`. Other tokens are never restricted here. */
function lanesOf(caller: Caller): readonly string[] | null {
  if (caller.kind !== 'worker' || caller.restriction === null) return null;
  const { lanes } = caller.restriction as { lanes?: readonly string[] };
  return lanes ?? [];
}

export function checkLane(caller: Caller, lane: string): void {
  const allowed = lanesOf(caller);
  if (allowed && !allowed.includes(lane))
    throw actionError('MUSTER_LANE_NOT_ALLOWED', 'This token does not allow this lane.');
}

/** A restricted worker's lane is checked at each report: worth remembering. */
export const isRestricted = (caller: Caller): boolean => lanesOf(caller) !== null;

/**
 * To a restricted worker, an action of another lane is as unknown as one that does not exist. Returns the lane if it
 * was looked up or is cached; null: this caller is not restricted.
 */
export async function checkAction(
  caller: Caller,
  id: string,
  engine: Engine,
  handed: HandedToWorkers,
): Promise<string | null> {
  const allowed = lanesOf(caller);
  if (!allowed) return null;
  const lane = handed.get(caller.tenantId, id)?.lane ?? (await laneOf(engine, caller.tenantId, id));
  if (lane === null || !allowed.includes(lane)) throw unknownAction();
  return lane;
}

async function laneOf(engine: Engine, tenantId: number, id: string): Promise<string | null> {
  const action = await engine.get(engine.db, tenantId, id);
  return action?.space === GENERIC ? action.laneName : null;
}

/** Also where there is one, but of another door: a report there would change nothing. */
export function notReportedHere(): MusterError {
  return new MusterError(
    'MUSTER_UNKNOWN_ACTION',
    404,
    'There is no such action in the generic lanes. Devices, agents, runners and bots report at their own doors.',
  );
}

export function unknownAction(): MusterError {
  return new MusterError('MUSTER_UNKNOWN_ACTION', 404, 'There is no action with this id.');
}
