import { type ClaimedAction, type Engine, type Queryable, whileLocked } from '@muster/engine';
import { ClaimLoop } from '../claiming/claim-loop.ts';
import type { Log } from '../http/logging.ts';
import type { Outgoing, OutgoingAnswer, OutgoingRequest } from './outgoing.ts';

export interface LaneSenderOptions {
  /** So many requests at once, by this node. */
  readonly atOnce: number;
  readonly channel: string;
  readonly engine: Engine;
  /** Of actions that do not say it themselves. */
  readonly leaseMs: number;
  readonly log: Log;
  readonly outgoing: Outgoing;
  readonly runnerId: string;
  readonly tenantId: number;
  readonly worker: string;
  /** What is sent, for the log. */
  readonly what: string;
  /** What is to be sent for it, or why nothing is; `stopped` gives it back. */
  request(action: ClaimedAction): Promise<Omit<OutgoingRequest, 'signal'> | OutgoingAnswer>;
  /** In one transaction, which may be begun anew. */
  settle(tx: Queryable, action: ClaimedAction, answer: OutgoingAnswer): Promise<void>;
  /** After it. */
  settled?(action: ClaimedAction, answer: OutgoingAnswer): Promise<void>;
}

const WAIT_MS = 25_000;

/** Sends what is due in the lanes of one runner: one request for each action that it claims. */
export class LaneSender {
  readonly #options: LaneSenderOptions;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #loop: ClaimLoop;

  constructor(options: LaneSenderOptions) {
    const { log, tenantId, what } = options;
    this.#options = options;
    this.#loop = new ClaimLoop({
      log,
      claim: (signal) => this.#claim(signal),
      take: (claimed) => {
        for (const action of claimed) this.#begin(action);
      },
      fault: { text: `${what}s cannot be claimed; trying again.`, of: { tenantId } },
    });
  }

  /** Claims nothing any more; what is under way is waited for. */
  async finish(): Promise<void> {
    await this.#loop.stop();
    await Promise.all(this.#underWay);
  }

  /** What is under way is broken off and given back: a destination may get it twice, as over any lost answer. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.finish();
  }

  async #claim(signal: AbortSignal): Promise<readonly ClaimedAction[]> {
    const { atOnce, channel, engine, leaseMs, runnerId, tenantId, worker } = this.#options;
    if (this.#underWay.size >= atOnce) await Promise.race(this.#underWay);
    return engine.claimSlots(engine.db, {
      ...{ tenantId, runnerId, channel, worker, leaseMs },
      ...{ max: atOnce - this.#underWay.size, waitMs: WAIT_MS, signal },
    });
  }

  #begin(action: ClaimedAction): void {
    const { log, what } = this.#options;
    const sending = this.#send(action)
      // its lease ends, and it is tried again
      .catch((error) =>
        log.warn({ err: error, message: action.id }, `What came of a ${what} could not be stored.`),
      )
      .finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  async #send(action: ClaimedAction): Promise<void> {
    const { engine, outgoing, request, settle, settled } = this.#options;
    const wanted = await request(action);
    const answer =
      'outcome' in wanted ? wanted : await outgoing.send({ ...wanted, signal: this.#stop.signal });
    if (answer.outcome === 'stopped') {
      const { id: actionId, attempt, tenantId, worker } = action;
      await engine.release(engine.db, { actionId, attempt, tenantId, worker, reason: answer.text });
      return;
    }
    await whileLocked(engine.db, (tx) => settle(tx, action, answer));
    await settled?.(action, answer);
  }
}
