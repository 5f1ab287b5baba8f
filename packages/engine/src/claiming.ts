import type { ClaimedAction } from './claimed-action.ts';
import type { Queryable } from './db.ts';
import { EngineError } from './errors.ts';
import type { ClaimAnswer, ClaimItem } from './ops/claim.ts';
import type { ClaimPoolAnswer, ClaimPoolItem } from './ops/claim-pool.ts';
import type { ClaimSlotsAnswer, ClaimSlotsItem } from './ops/claim-slots.ts';
import {
  checkLane,
  checkLease,
  checkName,
  checkRunner,
  checkTenant,
  checkWhole,
  ifGiven,
  isId,
} from './values.ts';
import type { Waiters } from './waiters.ts';
import type { Verdict } from './waiting-line.ts';
import { laneKey, runnerKey, stopKey } from './wake-ups.ts';

/** How long a claim may wait for work, and how its caller signals that it is gone. */
export interface Wait {
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What to wait for, and how to look for it. */
interface Looking<T> {
  readonly key: string;
  /** Waiters with an equal `alike` find the same. */
  readonly alike?: () => string;
  look(): Promise<T>;
  found(result: T): boolean;
  /** What the look means for others who wait for the key. */
  verdict(result: T): Verdict;
  giveBack(result: T): Promise<void>;
  /** After a look that found nothing: whether there is other news for the caller, which ends the wait. */
  news?: (() => Promise<boolean>) | undefined;
}

/**
 * Looks, and looks again after every wake-up, until it finds something or the time is over. If the caller is gone by
 * the time something is claimed for it, that is given back at once. If there is no room to wait, work that is already
 * available is still returned.
 */
async function lookUntil<T>(
  waiters: Waiters,
  { tenantId, waitMs = 0, signal }: { readonly tenantId: number } & Wait,
  on: Looking<T>,
  woken?: () => void,
): Promise<T> {
  if (waitMs === 0 && !signal) return on.look();
  const waits = waitMs > 0 && !signal?.aborted;
  const waiter = waits ? waiters.add(on.key, tenantId, waitMs, on.alike?.()) : null;
  const gone = () => waiter?.end();
  signal?.addEventListener('abort', gone, { once: true });
  try {
    for (let wasWoken = false; ; wasWoken = true) {
      const result = await on.look();
      if (on.found(result)) {
        if (signal?.aborted) await on.giveBack(result);
        else waiter?.end(on.verdict(result));
        return result;
      }
      if (waits && !waiter) throw noPlace();
      if (wasWoken && (await on.news?.())) return result;
      if (!(await waiter?.next(on.verdict(result)))) return result;
      woken?.();
    }
  } finally {
    signal?.removeEventListener('abort', gone);
    waiter?.end();
  }
}

const noPlace = () =>
  new EngineError(
    'MUSTER_TOO_MANY_WAITING',
    'There is no work now, and this server cannot hold more waiting claims. Try again later.',
  );

const wrongGeneration = () =>
  new EngineError('MUSTER_WRONG_GENERATION', 'The worker belongs to an older generation of the lane.');

export const LONGEST_WAIT_MS = 86_400_000;

/** Options that all claims share. */
function checkClaimer(
  request: {
    tenantId: number;
    channel: string;
    worker: string;
    leaseMs: number;
    generation?: number | undefined;
  } & Wait,
): void {
  checkTenant(request.tenantId);
  checkName(request.channel, 'channel');
  checkName(request.worker, 'worker', 0);
  checkLease(request.leaseMs);
  ifGiven(request.generation, (generation) => checkWhole(generation, 'generation', 1));
  checkWait(request);
}

function checkWait(request: Wait): void {
  if (request.waitMs !== undefined && !(request.waitMs >= 0 && request.waitMs <= LONGEST_WAIT_MS))
    throw new EngineError('MUSTER_BAD_VALUE', `waitMs must be a number from 0 to ${LONGEST_WAIT_MS}.`);
}

export type ClaimRequest = ClaimItem & Wait;
export type ClaimPoolRequest = ClaimPoolItem & Wait;
/** The action that a worker gets, or the one it already has. */
export type PoolClaim = Exclude<ClaimPoolAnswer, { kind: 'unknown-lane' | 'wrong-generation' }>;
export type ClaimSlotsRequest = ClaimSlotsItem & Wait & Pick<Looking<unknown>, 'news'>;

export function createClaiming(options: {
  waiters: Waiters;
  claim: (client: Queryable, item: ClaimItem) => Promise<ClaimAnswer>;
  claimEach: (client: Queryable, items: readonly ClaimItem[]) => Promise<ClaimAnswer[]>;
  claimSlots: (client: Queryable, item: ClaimSlotsItem) => Promise<ClaimSlotsAnswer>;
  claimPool: (client: Queryable, item: ClaimPoolItem) => Promise<ClaimPoolAnswer>;
  claimPoolNamed: (client: Queryable, item: ClaimPoolItem) => Promise<ClaimPoolAnswer>;
  release: (client: Queryable, action: ClaimedAction) => Promise<void>;
  woken?: () => void;
}) {
  const { release } = options;
  const search = <T>(of: { readonly tenantId: number } & Wait, on: Looking<T>) =>
    lookUntil(options.waiters, of, on, options.woken);
  return {
    async claimMany(client: Queryable, requests: readonly ClaimItem[]): Promise<(ClaimedAction | null)[]> {
      for (const request of requests) {
        checkLane(request.laneId);
        checkClaimer(request);
      }
      if (requests.length === 0) return [];
      const answers = await options.claimEach(client, requests);
      return answers.map((answer) => (answer.kind === 'claimed' ? answer.action : null));
    },

    async claim(client: Queryable, request: ClaimRequest): Promise<ClaimedAction | null> {
      checkLane(request.laneId);
      checkClaimer(request);
      const answer = await search(request, {
        key: laneKey(request.tenantId, request.laneId),
        alike: () => [request.channel, request.generation, request.except].join('\n'),
        look: () => options.claim(client, request),
        found: ({ kind }) => kind !== 'empty' && kind !== 'held',
        // one action at a time: once the lane is leased, the end of the lease wakes again
        verdict: ({ kind }) =>
          kind === 'claimed' || kind === 'held' ? 'taken' : kind === 'empty' ? 'nothing' : 'unclear',
        async giveBack(found) {
          // what is handed out again may already run at the worker, so only its first delivery is taken back
          if (found.kind === 'claimed' && !found.action.redelivered) await release(client, found.action);
        },
      });
      if (answer.kind === 'unknown-lane')
        throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane.');
      if (answer.kind === 'wrong-generation') throw wrongGeneration();
      return answer.kind === 'claimed' ? answer.action : null;
    },

    async claimSlots(client: Queryable, request: ClaimSlotsRequest): Promise<ClaimedAction[]> {
      checkRunner(request.runnerId);
      checkClaimer(request);
      checkWhole(request.max, 'max', 0);
      const isEmpty = (found: ClaimSlotsAnswer) => found.kind === 'claimed' && found.actions.length === 0;
      const answer = await search(request, {
        key: runnerKey(request.tenantId, request.runnerId),
        alike: () => [request.channel, request.max].join('\n'),
        news: request.news,
        look: () => options.claimSlots(client, request),
        found: (found) => !isEmpty(found),
        // one claim may have left something for the next
        verdict: (found) => (isEmpty(found) ? 'nothing' : 'unclear'),
        async giveBack(found) {
          if (found.kind === 'claimed')
            await Promise.all(found.actions.map((action) => release(client, action)));
        },
      });
      if (answer.kind === 'unknown-runner')
        throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
      return answer.actions;
    },

    async claimFromPool(client: Queryable, request: ClaimPoolRequest): Promise<PoolClaim> {
      checkLane(request.laneId);
      checkLane(request.poolId);
      checkClaimer(request);
      if (request.actionId !== undefined && !isId(request.actionId)) return { kind: 'empty' };
      ifGiven(request.normalShare, (share) => checkWhole(share, 'normalShare', 0));
      const answer = await search(request, {
        key: laneKey(request.tenantId, request.poolId),
        alike: () => [request.channel, request.actionId].join('\n'),
        look: () =>
          request.actionId === undefined
            ? options.claimPool(client, request)
            : options.claimPoolNamed(client, request),
        found: ({ kind }) => kind !== 'empty',
        verdict: ({ kind }) => (kind === 'empty' ? 'nothing' : kind === 'claimed' ? 'more' : 'unclear'),
        async giveBack(found) {
          if (found.kind === 'claimed') await release(client, found.action);
        },
      });
      if (answer.kind === 'unknown-lane')
        throw new EngineError('MUSTER_UNKNOWN_LANE', 'There is no such lane in this pool.');
      if (answer.kind === 'wrong-generation') throw wrongGeneration();
      return answer;
    },

    /** Looks at what the runner holds, and again whenever some of it must stop, until `look` finds something. */
    watchHeld<T>(
      on: { readonly tenantId: number; readonly runnerId: string } & Wait,
      look: () => Promise<T>,
      found: (result: T) => boolean,
    ): Promise<T> {
      checkWait(on);
      const key = stopKey(checkTenant(on.tenantId), checkRunner(on.runnerId));
      return search(on, {
        key,
        look,
        found,
        verdict: () => 'unclear',
        giveBack: async () => {},
      });
    },

    /** A claim whose actions the caller supplies: it looks, and looks again whenever the runner is woken. */
    claimSupplied<T>(
      on: { readonly tenantId: number; readonly runnerId: string } & Wait,
      look: () => Promise<T>,
      actionsOf: (found: T) => readonly ClaimedAction[],
      giveBack: (actions: readonly ClaimedAction[]) => Promise<void>,
    ): Promise<T> {
      checkWait(on);
      const key = runnerKey(checkTenant(on.tenantId), checkRunner(on.runnerId));
      return search(on, {
        key,
        look,
        found: (result) => actionsOf(result).length > 0,
        verdict: () => 'unclear',
        giveBack: (result) => giveBack(actionsOf(result)),
      });
    },
  };
}
