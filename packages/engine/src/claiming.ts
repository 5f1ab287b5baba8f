import type { ClaimedAction } from './claimed-action.ts';
import type { Queryable } from './db.ts';
import { EngineError } from './errors.ts';
import type { ClaimAnswer, ClaimItem } from './ops/claim.ts';
import type { ClaimSlotsAnswer, ClaimSlotsItem } from './ops/claim-slots.ts';
import { checkLane, checkLease, checkName, checkRunner, checkTenant, checkWhole, ifGiven } from './values.ts';
import type { Waiters } from './waiters.ts';
import { laneKey, runnerKey } from './wake-ups.ts';

/** How long a claim may wait for something to do, and how its caller says that he is gone. */
export interface Wait {
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Looks, and looks again after every wake-up, until there is something or the time is over. Whoever is gone by the time
 * something was claimed for him gives it back at once.
 */
async function lookUntil<T>(
  waiters: Waiters,
  on: { keys: string[]; tenantId: number } & Wait,
  look: () => Promise<T>,
  found: (result: T) => boolean,
  giveBack: (result: T) => Promise<void>,
): Promise<T> {
  const waiter = on.waitMs && !on.signal?.aborted ? waiters.add(on.keys, on.tenantId, on.waitMs) : null;
  const gone = () => waiter?.end();
  on.signal?.addEventListener('abort', gone, { once: true });
  try {
    for (;;) {
      const result = await look();
      if (found(result)) {
        if (on.signal?.aborted) await giveBack(result);
        return result;
      }
      if (!(await waiter?.next())) return result;
    }
  } finally {
    on.signal?.removeEventListener('abort', gone);
    waiter?.end();
  }
}

export const LONGEST_WAIT_MS = 86_400_000;

/** What everybody says who claims something. */
function checkClaimer(
  request: { tenantId: number; channel: string; worker: string; leaseMs: number } & Wait,
): void {
  checkTenant(request.tenantId);
  checkName(request.channel, 'channel');
  checkName(request.worker, 'worker', 0);
  checkLease(request.leaseMs);
  checkWait(request);
}

function checkWait(request: Wait): void {
  if (request.waitMs !== undefined && !(request.waitMs >= 0 && request.waitMs <= LONGEST_WAIT_MS))
    throw new EngineError('MUSTER_BAD_VALUE', `waitMs must be a number from 0 to ${LONGEST_WAIT_MS}.`);
}

export type ClaimRequest = ClaimItem & Wait;
export type ClaimSlotsRequest = ClaimSlotsItem & Wait;

export function createClaiming(options: {
  waiters: Waiters;
  claim: (client: Queryable, item: ClaimItem) => Promise<ClaimAnswer>;
  claimSlots: (client: Queryable, item: ClaimSlotsItem) => Promise<ClaimSlotsAnswer>;
  release: (client: Queryable, action: ClaimedAction) => Promise<void>;
}) {
  const { waiters, release } = options;
  return {
    async claim(client: Queryable, request: ClaimRequest): Promise<ClaimedAction | null> {
      checkLane(request.laneId);
      checkClaimer(request);
      ifGiven(request.generation, (generation) => checkWhole(generation, 'generation', 1));
      const answer = await lookUntil(
        waiters,
        { keys: [laneKey(request.tenantId, request.laneId)], ...request },
        () => options.claim(client, request),
        (found) => found.kind !== 'empty' && found.kind !== 'held',
        async (found) => {
          // what is handed out again may be running at the worker: only its first delivery is taken back
          if (found.kind === 'claimed' && !found.action.redelivered) await release(client, found.action);
        },
      );
      if (answer.kind === 'unknown-lane')
        throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane.');
      if (answer.kind === 'wrong-generation')
        throw new EngineError(
          'MUSTER_WRONG_GENERATION',
          'This worker belongs to an older generation of the lane.',
        );
      return answer.kind === 'claimed' ? answer.action : null;
    },

    async claimSlots(client: Queryable, request: ClaimSlotsRequest): Promise<ClaimedAction[]> {
      checkRunner(request.runnerId);
      checkClaimer(request);
      checkWhole(request.max, 'max', 0);
      const answer = await lookUntil(
        waiters,
        { keys: [runnerKey(request.tenantId, request.runnerId)], ...request },
        () => options.claimSlots(client, request),
        (found) => found.kind !== 'claimed' || found.actions.length > 0,
        async (found) => {
          if (found.kind === 'claimed')
            await Promise.all(found.actions.map((action) => release(client, action)));
        },
      );
      if (answer.kind === 'unknown-runner')
        throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
      return answer.actions;
    },

    /** A claim that a caller makes of several steps: he looks, and looks again whenever the runner is woken. */
    claimWith<T>(
      on: { readonly tenantId: number; readonly runnerId: string } & Wait,
      look: () => Promise<T>,
      found: (result: T) => boolean,
      giveBack: (result: T) => Promise<void>,
    ): Promise<T> {
      checkWait(on);
      const keys = [runnerKey(checkTenant(on.tenantId), checkRunner(on.runnerId))];
      return lookUntil(waiters, { keys, ...on }, look, found, giveBack);
    },
  };
}
