import { type ClaimedAction, type Engine, type Queryable, whileLocked } from '@muster/engine';
import { ClaimLoop } from '../claiming/claim-loop.ts';
import type { Log } from '../http/logging.ts';
import type { Outgoing, OutgoingAnswer, OutgoingRequest } from './outgoing.ts';
import { type Place, type PlaceLimits, Places } from './places.ts';
import { Turns } from './turns.ts';

export interface LaneSenderOptions extends PlaceLimits {
  readonly channel: string;
  readonly engine: Engine;
  /** For actions without a lease of their own. */
  readonly leaseMs: number;
  readonly log: Log;
  readonly outgoing: Outgoing;
  /** A request without an answer after this time is slow. */
  readonly slowAfterMs?: number;
  readonly runnerId: string;
  readonly tenantId: number;
  readonly worker: string;
  /** A noun for the log. */
  readonly what: string;
  /** The request to send, or an answer without sending; `stopped` releases the action. */
  request(action: ClaimedAction): Promise<Omit<OutgoingRequest, 'signal'> | OutgoingAnswer>;
  /** In one transaction, which may be started again. */
  settle(tx: Queryable, action: ClaimedAction, answer: OutgoingAnswer): Promise<void>;
  /** Called when its request is slow. */
  slowed?(action: ClaimedAction): Promise<void>;
  /** Called after settling. */
  settled?(action: ClaimedAction, answer: OutgoingAnswer): Promise<void>;
}

const WAIT_MS = 25_000;
/** How soon a cancelled request is aborted, on whatever node it was cancelled. Most end before the first look. */
const LOOK_MS = 1_000;
/**
 * Hosts that hung answer at once: 340 concurrent transactions waited for each other until 26 of them timed out, and
 * other work got no connection.
 */
const SETTLED_AT_ONCE = 4;

interface UnderWay {
  readonly attempt: number;
  readonly cancel: AbortController;
}

/** Sends what is due in the lanes of one runner: one request for each claimed action. */
export class LaneSender {
  readonly #options: LaneSenderOptions;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #places: Places;
  /** Actions whose request is being sent, by id. */
  readonly #sending = new Map<string, UnderWay>();
  readonly #settling = new Turns(SETTLED_AT_ONCE);
  #look: NodeJS.Timeout | undefined;
  readonly #loop: ClaimLoop;

  constructor(options: LaneSenderOptions) {
    const { log, tenantId, what } = options;
    this.#options = options;
    this.#places = new Places(options);
    this.#loop = new ClaimLoop({
      log,
      claim: (signal) => this.#claim(signal),
      take: (claimed) => {
        for (const action of claimed) this.#begin(action);
      },
      fault: { text: `${what}s cannot be claimed; trying again.`, of: { tenantId } },
    });
  }

  /** Claims no more, and waits for requests in progress. */
  async finish(): Promise<void> {
    await this.#loop.stop();
    await Promise.all(this.#underWay);
  }

  /**
   * Aborts requests in progress and releases their actions: a destination may get a request twice, as after any lost
   * answer.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#look);
    await this.finish();
  }

  async #claim(signal: AbortSignal): Promise<readonly ClaimedAction[]> {
    const { channel, engine, leaseMs, runnerId, tenantId, worker } = this.#options;
    const max = await this.#places.free();
    return engine.claimSlots(engine.db, {
      ...{ tenantId, runnerId, channel, worker, leaseMs, max, waitMs: WAIT_MS, signal },
    });
  }

  #begin(action: ClaimedAction): void {
    const { log, what } = this.#options;
    const place = this.#places.take();
    const sending = this.#send(action, place)
      // its lease ends, and it is tried again
      .catch((error) =>
        log.warn({ err: error, message: action.id }, `The outcome of a ${what} could not be stored.`),
      )
      .finally(() => {
        this.#places.giveBack(place);
        this.#underWay.delete(sending);
      });
    this.#underWay.add(sending);
  }

  async #send(action: ClaimedAction, place: Place): Promise<void> {
    const { engine, log, request, settled, what } = this.#options;
    const wanted = await request(action);
    const answer = 'outcome' in wanted ? wanted : await this.#ask(action, wanted, place);
    if (answer.outcome === 'stopped') {
      const { id: actionId, attempt, tenantId, worker } = action;
      // this ends a cancelled action
      await engine.release(engine.db, { actionId, attempt, tenantId, worker, reason: answer.text });
      return;
    }
    await this.#settle(action, answer);
    await settled?.(action, answer).catch((error) =>
      log.warn({ err: error, message: action.id }, `The follow-up of the outcome of a ${what} failed.`),
    );
  }

  async #ask(
    action: ClaimedAction,
    request: Omit<OutgoingRequest, 'signal'>,
    place: Place,
  ): Promise<OutgoingAnswer> {
    const cancel = new AbortController();
    const mine = { attempt: action.attempt, cancel };
    this.#sending.set(action.id, mine);
    this.#lookLater();
    const signal = AbortSignal.any([this.#stop.signal, cancel.signal]);
    const ended = this.#whenSlow(action, request, place);
    const answer = await this.#options.outgoing.send({ ...request, signal });
    await ended();
    if (this.#sending.get(action.id) === mine) this.#sending.delete(action.id);
    return answer.outcome === 'stopped' && cancel.signal.aborted
      ? { ...answer, text: 'It was cancelled.' }
      : answer;
  }

  /**
   * On a lock conflict the turn is given up, and the retry runs without one, behind all that have not tried yet
   * (`whileLocked`). Keeping the turn, four of them had delayed every other answer by up to ten seconds.
   */
  async #settle(action: ClaimedAction, answer: OutgoingAnswer): Promise<void> {
    const { engine, settle } = this.#options;
    const giveBack = await this.#settling.take();
    try {
      await whileLocked(engine.db, (tx) =>
        settle(tx, action, answer).catch((error) => {
          giveBack();
          throw error;
        }),
      );
    } finally {
      giveBack();
    }
  }

  /** Returns a function that ends the wait. If moving to the slow line has begun, it is awaited. */
  #whenSlow(action: ClaimedAction, { body }: Pick<OutgoingRequest, 'body'>, place: Place) {
    const { log, slowAfterMs, slowed, what } = this.#options;
    if (slowAfterMs === undefined) return () => Promise.resolve();
    let begun: Promise<void> | undefined;
    const timer = setTimeout(() => {
      this.#places.turnSlow(place, Buffer.byteLength(body ?? ''));
      begun = slowed?.(action).catch((error) =>
        log.warn(
          { err: error, message: action.id },
          `A slow ${what} could not be moved to the places for slow requests.`,
        ),
      );
    }, slowAfterMs);
    return async () => {
      clearTimeout(timer);
      await begun;
    };
  }

  /** Runs only while requests are being sent. */
  #lookLater(): void {
    if (this.#look !== undefined || this.#sending.size === 0 || this.#stop.signal.aborted) return;
    this.#look = setTimeout(() => {
      void this.#endCancelled().finally(() => {
        this.#look = undefined;
        this.#lookLater();
      });
    }, LOOK_MS);
    this.#look.unref();
  }

  async #endCancelled(): Promise<void> {
    const { engine, log, runnerId, tenantId, what } = this.#options;
    if (this.#sending.size === 0) return;
    try {
      for (const { attempt, cancelRequested, id } of await engine.held(engine.db, { tenantId, runnerId })) {
        const one = this.#sending.get(id);
        if (cancelRequested && one?.attempt === attempt) one.cancel.abort();
      }
    } catch (error) {
      log.debug({ err: error, tenantId }, `Cancelled ${what}s could not be read; trying again.`);
    }
  }
}
