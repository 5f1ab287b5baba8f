import type { ClaimedAction, Engine, Queryable } from '@muster/engine';
import { ClaimLoop } from '../claiming/claim-loop.ts';
import type { Log } from '../http/logging.ts';
import type { LanesOfBus } from './bus-lanes.ts';
import { BUS, type Received, type Stored, type Subscription } from './subscription.ts';

interface Options {
  readonly engine: Engine;
  readonly lanes: LanesOfBus;
  readonly log: Log;
  readonly subscription: Subscription;
  readonly tenantId: number;
  readonly worker: string;
}

/** A message that is not finished by then is handed out again. */
export const VISIBLE_MS = 30_000;
const WAIT_MS = 25_000;
const AT_ONCE = 64;

/** Takes the messages of one tenant and subscription: claims what is there, or waits without a query. */
export class Consumer {
  readonly #options: Options;
  readonly #loop: ClaimLoop;

  constructor(options: Options) {
    const { log, subscription } = options;
    this.#options = options;
    this.#loop = new ClaimLoop({
      log,
      claim: (signal) => this.#claim(signal),
      take: (claimed) => this.#take(claimed),
      fault: { text: 'Messages cannot be consumed; trying again.', of: { subscription: subscription.name } },
    });
  }

  /** Resolves when the messages in progress are done. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #claim(signal: AbortSignal): Promise<readonly ClaimedAction[]> {
    const { engine, lanes, subscription, tenantId, worker } = this.#options;
    const { runnerId } = await lanes.ofConsumer(tenantId, subscription.name);
    return engine.claimSlots(engine.db, {
      ...{ tenantId, runnerId, channel: BUS, worker, leaseMs: VISIBLE_MS, max: AT_ONCE },
      ...{ waitMs: WAIT_MS, signal },
    });
  }

  /** All in one transaction; if that fails, each in its own, so only the bad one fails. */
  async #take(claimed: readonly ClaimedAction[]): Promise<void> {
    const { db } = this.#options.engine;
    try {
      await db.transaction((tx) => this.#takeIn(tx, claimed));
      return;
    } catch (error) {
      if (claimed.length === 1) return this.#fail(claimed[0] as ClaimedAction, error);
    }
    for (const action of claimed)
      try {
        await db.transaction((tx) => this.#takeIn(tx, [action]));
      } catch (error) {
        await this.#fail(action, error);
      }
  }

  async #takeIn(tx: Queryable, claimed: readonly ClaimedAction[]): Promise<void> {
    const { engine, subscription, tenantId, worker } = this.#options;
    // first, so a consumer that has lost its lease does nothing: the fence holds until the commit
    const reports = await engine.reportMany(
      tx,
      claimed.map(({ id, attempt, laneId }) => ({
        tenantId,
        actionId: id,
        attempt,
        leasedIn: laneId,
        status: 'succeeded' as const,
        worker,
      })),
    );
    const ours = claimed.filter((_, n) => reports[n]?.accepted && !reports[n]?.repeated);
    if (ours.length > 0) await subscription.take(tx, ours.map(received));
  }

  async #fail({ id, attempt }: ClaimedAction, error: unknown): Promise<void> {
    const { engine, log, subscription, tenantId, worker } = this.#options;
    log.warn(
      { err: error, message: id, subscription: subscription.name },
      'A message could not be consumed.',
    );
    await engine.report(engine.db, {
      ...{ tenantId, actionId: id, attempt, worker, status: 'failed' },
      error: sentence(error),
    });
  }
}

function received({ id, tenantId, attempt, payload }: ClaimedAction): Received {
  const { key, body } = payload as Stored;
  return { id, tenantId, key, body, receives: attempt };
}

const LONGEST_ERROR = 2_000;

function sentence(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll('\u0000', '').slice(0, LONGEST_ERROR);
}
