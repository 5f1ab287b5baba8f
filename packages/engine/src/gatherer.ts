import { EngineError, isLaneBusy, laneBusy, noAnswer, overloaded } from './errors.ts';
import { FairLine } from './fair-line.ts';
import { KeyLines } from './key-lines.ts';
import { Line, type Place } from './line.ts';
import { BUSY, type Busy, type Operation, type Run } from './operation.ts';
import { Pausing } from './pausing.ts';
import type { Places } from './places.ts';
import { Room, type RoomSize } from './room.ts';
import { isDataError, isLockError } from './sqlstate.ts';

/**
 * Gathers concurrent calls of one kind into set-based statements. The first caller is sent at once; calls that arrive while
 * a statement is in flight go into the next one, or beside it if they are many; no call is answered before the commit. The
 * flush waits for the end of the turn (`setImmediate`): flushed synchronously, the embedded database never gathers (1.9k →
 * 11k requests/s).
 *
 * No caller fails or delays another: items with equal keys never share a statement, items whose lane is locked come back as
 * BUSY and are tried again, and after a data or lock error the batch is run again row by row (of a batch of several
 * statements, only the items of the failed one). What waits is bounded (`Room`), tenants take turns, and a call that has no
 * answer by its deadline is told so:
 *
 *   waiting ──sent──► in flight ──► answered
 *      │  ▲               │ └─deadline──► "not known"; a later result goes to `unwanted`
 *      │  └──BUSY, later──┘
 *      └─deadline──► "nothing was done", and it is not sent any more
 *
 * Of calls with an equal key the oldest holds the key until it is answered, also between its tries; the others queue behind
 * it. So a call costs the same however many share its key (rescanning 20,000 calls of one key took 6.6 s).
 */
export interface GathererOptions<Item, Answer> {
  readonly writers: number;
  /** A statement is of one tenant: the database is distributed. */
  readonly isOfOneTenant?: boolean;
  /** Runs the operation over the items in one transaction, with everything that belongs to it. */
  readonly run: (
    operation: Operation<Item, Answer>,
    items: readonly Item[],
    alone: boolean,
  ) => Promise<Run<Answer | Busy>>;
  /** For calls that run alone, shared by all gatherers: they must not use up the connections. */
  readonly alone: Places;
  readonly deadlineMs: number;
  readonly room?: RoomSize | undefined;
  /** An answer whose caller was already told that it is not known. */
  readonly unwanted?: ((item: Item, answer: Answer) => void) | undefined;
  readonly onBatch?: ((operation: string, size: number, seconds: number) => void) | undefined;
}

interface Call<Item, Answer> {
  readonly item: Item;
  readonly key: string | null;
  readonly tenant: number;
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** Its place among all unanswered calls; removed: answered. */
  open: Place<Call<Item, Answer>>;
  /** Takes it out of its queue. */
  leaveQueue: () => void;
  tries: number;
  isSent: boolean;
  /** Runs alone from now on: it has failed or stalled a batch. */
  isAlone: boolean;
}

/** Larger statements are no faster per row, and lock their lanes longer. */
export const MOST_PER_STATEMENT = 500;
/** Sixty calls of 1 MB in one statement stopped the process for 10 s. */
export const MOST_BYTES_PER_STATEMENT = 4 * 1_048_576;
const LONGEST_PAUSE_MS = 100;
/**
 * So many are sent as soon as a writer is free, not only at the end of the turn: over HTTP a turn reads the requests of all
 * connections one after the other, and meanwhile the database would be idle (256 connections: 1.37 → 1.65 of two cores
 * busy, 1.18 times the requests; 32 no better, 128 less).
 */
const ENOUGH = 64;
/**
 * So many are sent beside a statement that is not small. Fewer wait for its end: two statements of half the size cost
 * more than one, and get in each other's way (256 connections, two cores: 23 µs of PostgreSQL per report for 34).
 */
const ENOUGH_BESIDE = 160;
/** Beside a statement of so few calls, or one that takes so long, any call is sent. */
const FEW = 16;
const LONG_MS = 25;
/** With less than this part of its time left a call is not retried: it would be in flight at its deadline. */
const LAST_TRY = 0.05;

const nowhere = () => {};

/** A statement, and the time from which on it takes long. */
interface Writing {
  readonly calls: number;
  readonly longAt: number;
}

export class Gatherer<Item, Answer> {
  readonly #operation: Operation<Item, Answer>;
  readonly #options: GathererOptions<Item, Answer>;
  readonly room: Room;
  /** All unanswered calls, the oldest first, which is the order of their deadlines. */
  readonly #open = new Line<Call<Item, Answer>>();
  readonly #keys = new KeyLines<Call<Item, Answer>>();
  readonly #ready = new FairLine<Call<Item, Answer>>();
  /** Calls that have failed or stalled a batch: each runs alone, beside the batches and out of their way. */
  readonly #alone = new FairLine<Call<Item, Answer>>();
  /** Those that failed or stalled alone too: behind the others, which are most likely innocent. */
  readonly #aloneAgain = new FairLine<Call<Item, Answer>>();
  /** Calls that wait for their next try. */
  readonly #pausing = new Pausing<Call<Item, Answer>>();
  /** Statements whose calls are not answered yet. */
  #inFlight = 0;
  /** Those of them that the database still works on. */
  readonly #writing = new Set<Writing>();
  #aloneInFlight = 0;
  #timer: { at: number; handle: NodeJS.Timeout } | undefined;
  #scheduled = false;
  #isFull = false;
  #closed = false;
  #whenIdle: (() => void)[] = [];

  constructor(operation: Operation<Item, Answer>, options: GathererOptions<Item, Answer>) {
    this.#operation = operation;
    this.#options = options;
    this.room = new Room(options.room);
  }

  add(item: Item): Promise<Answer> {
    if (this.#closed) return Promise.reject(new EngineError('MUSTER_STOPPING', 'The engine is stopping.'));
    const tenant = this.#operation.tenant?.(item) ?? tenantOf(item);
    const bytes = this.#operation.bytes?.(item) ?? 0;
    if (!this.room.enter(tenant, bytes)) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const call: Call<Item, Answer> = {
        item,
        key: this.#operation.key(item),
        tenant,
        bytes,
        deadline: performance.now() + this.#options.deadlineMs,
        resolve,
        reject,
        open: undefined as never, // set with the next statement
        leaveQueue: nowhere,
        tries: 0,
        isSent: false,
        isAlone: false,
      };
      call.open = this.#open.push(call);
      this.#wakeAt(call.deadline);
      call.leaveQueue = this.#keys.enter(call) ?? this.#ready.push(call);
      this.#schedule();
    });
  }

  /** Takes no new calls; resolves when all earlier ones are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#open.size + this.#inFlight + this.#aloneInFlight > 0)
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  #schedule(): void {
    if (!this.#mayGather() && !this.#mayRunAlone()) return;
    this.#flushSoon();
    if (this.#ready.size >= ENOUGH && this.#mayGather()) this.#flushNow();
  }

  /** After all callers that go on in this very moment: sent one by one they would fill a statement of their own each. */
  #flushNow(): void {
    if (this.#isFull) return;
    this.#isFull = true;
    process.nextTick(() => {
      this.#isFull = false;
      this.#flush();
    });
  }

  /**
   * Also called with a place for a call that runs alone: the place is taken or declined, whatever has become of the
   * calls.
   */
  readonly #flushSoon = (): void => {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  };

  #mayGather(): boolean {
    if (this.#ready.size === 0 || this.#writing.size >= this.#options.writers) return false;
    return this.#writing.size === 0 || this.#mayGoBeside();
  }

  #mayGoBeside(): boolean {
    if (this.#options.isOfOneTenant) return true;
    if (this.#ready.size >= Math.min(ENOUGH_BESIDE, this.#operation.most ?? ENOUGH_BESIDE)) return true;
    const now = performance.now();
    for (const { calls, longAt } of this.#writing) if (calls > FEW && now < longAt) return false;
    return true;
  }

  #mayRunAlone(): boolean {
    return this.#alone.size + this.#aloneAgain.size > 0;
  }

  #flush(): void {
    while (this.#mayGather()) {
      const batch = this.#take();
      this.#inFlight += 1;
      const writing = { calls: batch.length, longAt: performance.now() + LONG_MS };
      this.#writing.add(writing);
      if (this.#options.writers > 1 && writing.calls > FEW) this.#wakeAt(writing.longAt);
      const freeWriter = () => {
        this.#writing.delete(writing);
        // the database goes on while these are answered
        if (this.#ready.size >= ENOUGH) this.#flush();
      };
      void this.#send(batch, freeWriter).finally(() => {
        this.#inFlight -= 1;
        this.#afterwards();
      });
    }
    while (this.#mayRunAlone() && this.#options.alone.take(this.#flushSoon)) {
      this.#aloneInFlight += 1;
      const call = (this.#alone.shift() ?? this.#aloneAgain.shift()) as Call<Item, Answer>;
      void this.#send([call]).finally(() => {
        this.#aloneInFlight -= 1;
        this.#options.alone.free();
        this.#afterwards();
      });
    }
    if (!this.#mayRunAlone()) this.#options.alone.decline(this.#flushSoon);
  }

  #afterwards(): void {
    this.#schedule();
    if (this.#open.size + this.#inFlight + this.#aloneInFlight > 0) return;
    clearTimeout(this.#timer?.handle);
    this.#timer = undefined;
    const told = this.#whenIdle;
    this.#whenIdle = [];
    for (const tell of told) tell();
  }

  #take(): Call<Item, Answer>[] {
    const batch: Call<Item, Answer>[] = [];
    const most = this.#operation.most ?? MOST_PER_STATEMENT;
    let bytes = 0;
    for (let next = this.#ready.first; next && batch.length < most; next = this.#next(next)) {
      bytes += next.bytes;
      if (batch.length > 0 && bytes > MOST_BYTES_PER_STATEMENT) break;
      batch.push(next);
      if (batch.length > 1 && this.#options.isOfOneTenant) this.#ready.shiftOf(next.tenant);
      else this.#ready.shift();
    }
    return batch;
  }

  #next(before: Call<Item, Answer>): Call<Item, Answer> | undefined {
    return this.#options.isOfOneTenant ? this.#ready.firstOf(before.tenant) : this.#ready.first;
  }

  async #send(batch: readonly Call<Item, Answer>[], freeWriter = nowhere): Promise<void> {
    const began = performance.now();
    for (const call of batch) {
      call.leaveQueue = nowhere;
      call.isSent = true;
    }
    try {
      const { answers, failed } = await this.#run(batch).finally(freeWriter);
      this.#options.onBatch?.(this.#operation.name, batch.length, (performance.now() - began) / 1_000);
      batch.forEach((call, at) => {
        const answer = answers[at] as Answer | Busy;
        if (failed?.has(at)) this.#failed(call, failed.get(at), batch.length);
        else if (answer === BUSY) this.#again(call);
        else this.#answer(call, answer as Answer);
      });
    } catch (error) {
      for (const call of batch) this.#failed(call, error, batch.length);
    }
  }

  #run(batch: readonly Call<Item, Answer>[]): Promise<Run<Answer | Busy>> {
    const items = batch.map((call) => call.item);
    return this.#options.run(this.#operation, items, batch[0]?.isAlone ?? false);
  }

  /** Run together with this many items. The fault may be another's. */
  #failed(call: Call<Item, Answer>, error: unknown, together: number): void {
    if (isLockError(error) || isLaneBusy(error) || (together > 1 && isDataError(error)))
      this.#again(call, true);
    else this.#fail(call, error);
  }

  #answer(call: Call<Item, Answer>, answer: Answer): void {
    if (!call.open.isIn) this.#options.unwanted?.(call.item, answer);
    else {
      this.#close(call);
      call.resolve(answer);
    }
    if (this.#operation.isShared)
      for (const next of this.#keys.behind(call)) {
        this.#close(next);
        next.resolve(answer);
      }
    this.#giveUpKey(call);
  }

  #fail(call: Call<Item, Answer>, error: unknown): void {
    if (call.open.isIn) {
      this.#close(call);
      call.reject(error);
    }
    this.#giveUpKey(call);
  }

  #close(call: Call<Item, Answer>): void {
    this.#open.remove(call.open);
    this.room.leave(call.tenant, call.bytes);
  }

  /** The next call behind it takes over the key. */
  #giveUpKey(call: Call<Item, Answer>): void {
    const next = this.#keys.release(call);
    if (next) next.leaveQueue = this.#ready.push(next);
  }

  /**
   * The first retries are immediate (another call was faster); later ones wait, because an open transaction has the
   * lane locked.
   */
  #again(call: Call<Item, Answer>, alone = false): void {
    call.isSent = false;
    call.tries += 1;
    const wasAlone = call.isAlone;
    call.isAlone ||= alone;
    const pauseMs = wasAlone ? LONGEST_PAUSE_MS : pauseAfter(call.tries);
    const left = call.deadline - performance.now() - pauseMs;
    if (!call.open.isIn || left < LAST_TRY * this.#options.deadlineMs) this.#fail(call, laneBusy());
    else if (pauseMs === 0) this.#queueUp(call);
    else this.#pause(call, pauseMs);
  }

  #queueUp(call: Call<Item, Answer>): void {
    const alone = call.tries > 1 ? this.#aloneAgain : this.#alone;
    call.leaveQueue = (call.isAlone ? alone : this.#ready).push(call);
  }

  #pause(call: Call<Item, Answer>, ms: number): void {
    const { until, leave } = this.#pausing.add(call, ms);
    call.leaveQueue = leave;
    this.#wakeAt(until);
  }

  /** One timer for all deadlines and pauses. */
  #wakeAt(at: number): void {
    if (this.#timer && this.#timer.at <= at) return;
    clearTimeout(this.#timer?.handle);
    const handle = setTimeout(() => this.#look(), Math.max(1, Math.ceil(at - performance.now())));
    this.#timer = { at, handle };
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const call of this.#pausing.due(now)) this.#queueUp(call);
    for (let oldest = this.#open.first; oldest && oldest.deadline <= now; oldest = this.#open.first)
      this.#expire(oldest);
    if (this.#open.first) this.#wakeAt(Math.min(this.#open.first.deadline, this.#pausing.next));
    for (const { calls, longAt } of this.#writing) if (calls > FEW && longAt > now) this.#wakeAt(longAt);
    this.#afterwards();
  }

  /** A call in flight keeps its key until its outcome is known. */
  #expire(call: Call<Item, Answer>): void {
    const isBusy = this.#keys.holderOf(call).tries > 0;
    this.#close(call);
    call.leaveQueue();
    if (call.isSent) call.reject(noAnswer());
    else {
      call.reject(isBusy ? laneBusy() : overloaded());
      this.#giveUpKey(call);
    }
  }
}

function pauseAfter(tries: number): number {
  return tries <= 3 ? 0 : Math.min(2 ** (tries - 3), LONGEST_PAUSE_MS);
}

export function tenantOf(item: unknown): number {
  const { tenantId } = (typeof item === 'object' && item !== null ? item : {}) as { tenantId?: unknown };
  return typeof tenantId === 'number' ? tenantId : 0;
}
