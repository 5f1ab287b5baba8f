import { randomUUID } from 'node:crypto';
import { type Connections, type Database, gather, whileLocked } from '@muster/engine';
import { choosePushes, MdmError, mdmPush, nextPushInMs, nextTryInMs, type PushOutcome } from '@muster/mdm';
import type { Log } from '../../../http/logging.ts';
import type { Faults } from './faults.ts';
import type { Due, Ledger, Settled, Taken } from './ledger.ts';
import type { Provider, Providers } from './providers.ts';
import type { PushMetrics } from './push-metrics.ts';
import type { OnDead } from './pushes.ts';
import type { Topics } from './topics.ts';

interface Options {
  readonly db: Database;
  readonly log: Log;
  readonly now: () => Date;
  readonly faults: Faults;
  readonly ledger: Ledger;
  readonly metrics: PushMetrics;
  readonly providers: Providers;
  readonly topics: Topics;
  readonly onDead: readonly OnDead[];
}

/** Pushes of this node on their way at once. */
const MOST_IN_FLIGHT = 400;
/** A quarter is kept free of repeats, so a device that may be awake never waits for sleeping ones. */
const MOST_REPEATS = 300;
/**
 * One topic gets half of that, so a slow APNs connection of one tenant cannot hold up the others; again a quarter is
 * kept free of repeats.
 */
const MOST_OF_TOPIC = 200;
const MOST_WITH_REPEATS = 150;
/** While one push tries whether a stopped topic works again. */
const TRYING_MS = 120_000;

interface Round {
  readonly taken: number;
  /** More is due than may be on its way. */
  readonly isFull: boolean;
}
const NOTHING: Round = { taken: 0, isFull: false };

interface Sent extends Taken {
  readonly isTry: boolean;
}

/**
 * Sends due pushes. Every node sends those requested on it, right after the commit; the leader looks each second for
 * the rest: repeats, and those that dead nodes have left. The first node to take a row sends it.
 */
export class Pusher {
  readonly #options: Options;
  readonly #settle: (settled: Settled) => Promise<undefined>;
  readonly #sending = new Set<Promise<void>>();
  /** The outcome of each push on its way, by device. */
  readonly #outcomes = new Map<string, Promise<PushOutcome | null>>();
  readonly #ofTopic = new Map<string, number>();
  #repeats = 0;
  /** Tenants whose pushes are to be looked at. */
  readonly #wanted = new Set<number>();
  #round: Promise<Round> = Promise.resolve(NOTHING);
  #looking: Promise<void> | undefined;
  #freed: (() => void) | undefined;
  #stopping = false;

  constructor(options: Options) {
    this.#options = options;
    const { db, ledger } = options;
    this.#settle = gather({
      name: 'push-settle',
      inFlightAtOnce: 1,
      deadlineMs: db.deadlineMs,
      async run(settled: readonly Settled[]) {
        await ledger.settle(db.gathered, settled);
        return settled.map(() => undefined);
      },
    });
  }

  /** Resolves when no push is on its way and all outcomes are stored. */
  async idle(): Promise<void> {
    while (this.#looking || this.#sending.size > 0)
      await Promise.all([this.#looking, this.#round.catch(() => NOTHING), ...this.#sending]);
  }

  /** Pushes for devices of this tenant were requested and committed. */
  soon(tenantId: number): void {
    this.#wanted.add(tenantId);
    this.#looking ??= this.#lookOn();
  }

  /** One round, after those begun before: when it resolves, all due pushes are on their way. Returns how many. */
  async look(client: Connections, tenants: readonly number[] | null): Promise<number> {
    return (await this.#next(client, tenants)).taken;
  }

  /**
   * Pushes to these now, whatever was sent before; devices that another node is pushing to are missing in the result.
   */
  async now(tenantId: number, deviceIds: readonly string[]): Promise<Map<string, PushOutcome>> {
    const { db, ledger } = this.#options;
    // taken in the transaction that makes them due, so no other node takes them in between
    const taken = this.#stopping
      ? []
      : await whileLocked(db, async (tx) => ledger.take(tx, await ledger.makeDue(tx, tenantId, deviceIds)));
    for (const one of taken) this.#begin({ ...one, isTry: true });
    const outcomes = new Map<string, PushOutcome>();
    await Promise.all(
      deviceIds.map(async (deviceId) => {
        const outcome = await this.#outcomes.get(`${tenantId}:${deviceId}`);
        if (outcome) outcomes.set(deviceId, outcome);
      }),
    );
    return outcomes;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#freed?.();
    await this.#looking;
    await this.#round.catch(() => NOTHING);
    await this.#options.providers.stop();
    await Promise.all(this.#sending);
  }

  #next(client: Connections, tenants: readonly number[] | null): Promise<Round> {
    const round = this.#round.catch(() => NOTHING).then(() => this.#take(client, tenants));
    this.#round = round;
    return round;
  }

  /** Repeats until none is due: there may be more than there is room for. */
  async #lookOn(): Promise<void> {
    const { db, log } = this.#options;
    try {
      while (!this.#stopping && this.#wanted.size > 0) {
        const tenants = [...this.#wanted];
        this.#wanted.clear();
        const { isFull, taken } = await this.#next(db.gathered, tenants);
        if (taken === 0 && !isFull) continue;
        for (const tenantId of tenants) this.#wanted.add(tenantId);
        if (isFull) await this.#someRoom();
      }
    } catch (error) {
      this.#wanted.clear();
      log.warn({ err: error }, 'Pushes could not be checked now; housekeeping will do it.');
    }
    this.#looking = undefined;
  }

  /** Until a quarter of them has ended: a look for each would cost more than the pushes. */
  async #someRoom(): Promise<void> {
    const few = Math.floor(this.#sending.size * 0.75);
    while (!this.#stopping && this.#sending.size > few)
      await new Promise<void>((resolve) => {
        this.#freed = resolve;
      });
  }

  async #take(client: Connections, tenants: readonly number[] | null): Promise<Round> {
    const { ledger } = this.#options;
    const room = MOST_IN_FLIGHT - this.#sending.size;
    if (this.#stopping) return NOTHING;
    if (room <= 0) return { taken: 0, isFull: true };
    const due = await ledger.due(client, tenants, room);
    const tries = await this.#tries(client, due);
    const going = due.filter(({ isStopped }) => !isStopped);
    const chosen = choosePushes(this.#withinLimits(going), room);
    const isFull = chosen.length < going.length;
    const all = [...tries, ...chosen];
    if (all.length === 0) return { taken: 0, isFull };
    const taken = await ledger.take(client, all);
    const tried = new Set(tries.map((one) => `${topicKey(one)}:${one.deviceId}`));
    for (const one of taken)
      void this.#begin({ ...one, isTry: tried.has(`${topicKey(one)}:${one.deviceId}`) });
    return { taken: taken.length, isFull };
  }

  /** First pushes before repeats; of each topic, and of all repeats, no more than may be on their way. */
  #withinLimits(due: readonly Due[]): Due[] {
    const ofTopic = new Map(this.#ofTopic);
    let repeats = this.#repeats;
    const inOrder = [...due].sort(
      (a, b) => Math.min(1, a.pushes) - Math.min(1, b.pushes) || a.dueAt - b.dueAt,
    );
    return inOrder.filter((one) => {
      const count = ofTopic.get(topicKey(one)) ?? 0;
      const isRepeat = one.pushes > 0;
      if (count >= (isRepeat ? MOST_WITH_REPEATS : MOST_OF_TOPIC) || (isRepeat && repeats >= MOST_REPEATS))
        return false;
      ofTopic.set(topicKey(one), count + 1);
      if (isRepeat) repeats += 1;
      return true;
    });
  }

  /** One push for each stopped topic, unless another node is already trying it. */
  async #tries(client: Connections, due: readonly Due[]): Promise<Due[]> {
    const { now, topics } = this.#options;
    const tries: Due[] = [];
    const until = new Date(now().getTime() + TRYING_MS);
    for (const one of new Map(due.filter(({ isStopped }) => isStopped).map((d) => [topicKey(d), d])).values())
      if (await topics.mayTry(client, Number(one.tenantId), one.topic, until)) tries.push(one);
    return tries;
  }

  #begin(sent: Sent): void {
    const key = topicKey(sent);
    const device = `${sent.tenantId}:${sent.deviceId}`;
    const isRepeat = sent.pushes > 0 ? 1 : 0;
    this.#repeats += isRepeat;
    this.#ofTopic.set(key, (this.#ofTopic.get(key) ?? 0) + 1);
    const outcome = this.#send(sent).catch((error) => {
      // the row is due again when its turn is over
      const what = { err: error, deviceId: sent.deviceId };
      this.#options.log.warn(what, 'The outcome of a push could not be written.');
      return null;
    });
    this.#outcomes.set(device, outcome);
    const sending = outcome.then(() => {
      this.#sending.delete(sending);
      if (this.#outcomes.get(device) === outcome) this.#outcomes.delete(device);
      this.#repeats -= isRepeat;
      const left = (this.#ofTopic.get(key) ?? 1) - 1;
      if (left > 0) this.#ofTopic.set(key, left);
      else this.#ofTopic.delete(key);
      this.#freed?.();
    });
    this.#sending.add(sending);
  }

  async #send(sent: Sent): Promise<PushOutcome> {
    const { metrics, now, providers } = this.#options;
    const provider = await providers.of(sent.tenantId, sent.topic);
    const outcome = await push(provider, sent, now());
    metrics.count('mdm', outcome);
    await this.#end(sent, provider.topic, outcome);
    return outcome;
  }

  async #end(sent: Sent, of: Provider['topic'], outcome: PushOutcome): Promise<void> {
    const { faults, now } = this.#options;
    const { failures, pushes } = sent;
    const dueIn = (ms: number, more: Partial<Settled> = {}) =>
      this.#settle({
        ...{ tenantId: sent.tenantId, deviceId: sent.deviceId, turn: sent.turn, isAccepted: false, failures },
        dueAt: new Date(now().getTime() + ms),
        ...more,
      });
    const later = (retryAfterMs: number | null) =>
      dueIn(nextTryInMs(failures + 1, retryAfterMs), { failures: failures + 1 });

    switch (outcome.kind) {
      case 'accepted':
        await dueIn(nextPushInMs(pushes + 1), { isAccepted: true, failures: 0 });
        await faults.isFine(of, sent.isTry);
        if (sent.isTry) this.soon(sent.tenantId);
        return;
      case 'again':
        await (outcome.reason === 'closed' ? dueIn(0) : later(outcome.retryAfterMs));
        return;
      case 'provider-fault': {
        const isStopped = await faults.stop(of, outcome.reason);
        await dueIn(0);
        if (!isStopped) this.soon(sent.tenantId);
        return;
      }
      case 'bad-token':
        if (faults.isOurFault(of)) {
          await faults.stop(of, outcome.reason);
          await dueIn(0);
        } else if (!(await this.#bury(sent, 'apns_bad_token', null))) await later(null);
        return;
      default:
        await faults.isFine(of, sent.isTry);
        if (!(await this.#bury(sent, 'apns_unregistered', outcome.at))) await later(null);
    }
  }

  #bury(sent: Sent, reason: 'apns_bad_token' | 'apns_unregistered', at: Date | null): Promise<boolean> {
    const { db, ledger, onDead } = this.#options;
    return whileLocked(db, async (tx) => {
      if (!(await ledger.bury(tx, sent, { app: 'mdm', at, reason }))) return false;
      for (const told of onDead) await told(tx, sent.tenantId, sent.deviceId, reason);
      return true;
    });
  }
}

async function push({ sender }: Provider, sent: Sent, now: Date): Promise<PushOutcome> {
  if ('fault' in sender) return { kind: 'provider-fault', status: null, reason: sender.fault };
  const { magic: pushMagic, token, topic } = sent;
  try {
    return await sender.push(mdmPush({ pushMagic, token, topic, now, apnsId: randomUUID() }));
  } catch (error) {
    // a token that no push can be made of is treated as unknown to APNs
    if (error instanceof MdmError) return { kind: 'bad-token', reason: error.code };
    throw error;
  }
}

const topicKey = ({ tenantId, topic }: { tenantId: string | number; topic: string }) =>
  `${tenantId}:${topic}`;
