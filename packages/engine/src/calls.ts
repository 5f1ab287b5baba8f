import { type Database, isTransaction, type Queryable } from './db.ts';
import { makeDays } from './duties/keep-days.ts';
import { Gatherer } from './gatherer.ts';
import { refuseInsideTransaction } from './open-transaction.ts';
import { BUSY, type Busy, type Context, type Operation, type Run } from './operation.ts';
import { Places } from './places.ts';
import type { RoomSize } from './room.ts';
import { runDirectly } from './run-directly.ts';
import { isDataError, isLockError, isOutcomeUnknown, missingDay } from './sqlstate.ts';
import type { LostClaim, Transition } from './transition.ts';
import type { WakeUps } from './wake-ups.ts';
import { whileLocked } from './while-locked.ts';

/** Told of everything that happens, for metrics; must not throw. */
export interface Observer {
  batch?(operation: string, size: number, seconds: number): void;
  duty?(duty: string, count: number, seconds: number): void;
  transitions?(transitions: readonly Transition[]): void;
  late?(tenantId: number): void;
}

type Outcome = Pick<Run<never>, 'transitions' | 'wakes' | 'told'>;

/** Calls that run alone, of all kinds: the rest of the connections is for everybody else. */
const MOST_ALONE = 3;
/** A lock that stalled a batch is waited for no longer alone: the call is tried again, and holds nothing meanwhile. */
const ALONE_LOCK_MS = 100;

/**
 * How an operation gets to the database: gathered with others and committed by itself when the engine's own database is
 * passed, or at once in the transaction or on the client that the caller passed. Either way the wake-ups go out after the
 * commit, and so does what effects have told.
 */
/** Of a statement: today, and those of the SENT that it writes down. */
const MOST_DAYS_MISSED = 50;

export class Calls {
  readonly db: Database;
  readonly #context: Context;
  readonly #wakeUps: WakeUps;
  readonly #observer: Observer;
  readonly #room: RoomSize | undefined;
  /** Set by the engine: what gives back a claim whose answer was lost is a report, and so a call itself. */
  onLostClaims: (claims: readonly LostClaim[]) => void = () => {};
  readonly #alone = new Places(MOST_ALONE);
  readonly #gatherers: { close(): Promise<void> }[] = [];

  constructor(
    db: Database,
    context: Context,
    wakeUps: WakeUps,
    observer: Observer,
    /** How much of each kind of call may wait. */
    room?: RoomSize,
  ) {
    this.db = db;
    this.#room = room;
    this.#context = context;
    this.#wakeUps = wakeUps;
    this.#observer = observer;
  }

  /** A gathered operation: one item in, its answer out. An answer that comes too late for its caller is `unwanted`. */
  gathered<Item, Answer>(
    operation: Operation<Item, Answer>,
    unwanted?: (item: Item, answer: Answer) => void,
  ): (client: Queryable, item: Item) => Promise<Answer> {
    const gatherer = new Gatherer<Item, Answer>(operation, {
      deadlineMs: this.db.deadlineMs,
      room: this.#room,
      writers: operation.atOnce ?? this.db.writers,
      isOfOneTenant: this.db.isDistributed,
      alone: this.#alone,
      run: (op, items, alone) => this.#commit(op, items, alone),
      unwanted,
      onBatch: this.#observer.batch?.bind(this.#observer),
    });
    this.#gatherers.push(gatherer);
    return async (client, item) => {
      if (client !== this.db) return (await this.many(operation, client, [item]))[0] as Answer;
      refuseInsideTransaction();
      return gatherer.add(item);
    };
  }

  /** Many items of one caller; `whole`: all or nothing, where each statement would be a transaction of its own. */
  many<Item, Answer>(
    operation: Operation<Item, Answer>,
    client: Queryable,
    items: readonly Item[],
    { whole = false } = {},
  ): Promise<Answer[]> {
    if (client === this.db && whole) return this.#inOwn((tx) => this.many(operation, tx, items));
    if (client !== this.db)
      return runDirectly(
        operation,
        items,
        (some) => this.inside(client, (inner) => operation.run(inner, some)),
        null,
        this.db.isDistributed,
      );
    const commit = async (some: readonly Item[]): Promise<Run<Answer | Busy>> => {
      try {
        const run = await this.#commit(operation, some, false);
        // those are tried again without the others, and fail for themselves if they must
        for (const error of run.failed?.values() ?? [])
          if (!isLockError(error) && !isDataError(error)) throw error;
        return run;
      } catch (error) {
        // rolled back, so it can be tried again like a lane that is locked
        if (isLockError(error)) return { answers: some.map(() => BUSY), transitions: [], wakes: [] };
        throw error;
      }
    };
    return runDirectly(operation, items, commit, this.db.deadlineMs, this.db.isDistributed);
  }

  /** Something that is not gathered, with its wake-ups; in a transaction of its own if none was passed. */
  inside<R extends Outcome>(client: Queryable, perform: (client: Queryable) => Promise<R>): Promise<R> {
    if (client !== this.db) return this.#perform(client, perform);
    return this.#inOwn((tx) => this.#perform(tx, perform));
  }

  async #perform<R extends Outcome>(
    client: Queryable,
    perform: (client: Queryable) => Promise<R>,
  ): Promise<R> {
    await this.#context.ready(client);
    const run = await perform(client);
    if (isTransaction(client)) {
      client.afterCommit(() => this.#tell(run));
      client.ifInDoubt(() => {
        this.#wakeUps.lost.add(run.wakes);
        this.onLostClaims(run.transitions.filter(({ events }) => events.includes('SENT')));
      });
    } else {
      await this.#wakeUps.tellInside(client, run.wakes);
      this.#observer.transitions?.(run.transitions);
    }
    return run;
  }

  #inOwn<T>(run: (tx: Queryable) => Promise<T>): Promise<T> {
    refuseInsideTransaction();
    return this.#withDays(() => whileLocked(this.db, run));
  }

  /** A round of a duty, with its wake-ups, in a transaction on connections of its own. */
  inHousekeeping<R extends Outcome>(perform: (client: Queryable) => Promise<R>): Promise<R> {
    return this.#withDays(() => this.db.housekeeping.transaction((tx) => this.#perform(tx, perform)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#gatherers.map((gatherer) => gatherer.close()));
  }

  /**
   * A gathered statement is its own transaction: BEGIN and COMMIT would be two more round trips. One that runs alone is in
   * nobody's way on the connections of the batches.
   */
  async #commit<Item, Answer>(
    operation: Operation<Item, Answer>,
    items: readonly Item[],
    alone: boolean,
  ): Promise<Run<Answer | Busy>> {
    const connections = alone ? this.db : this.db.gathered;
    const asked = this.#context.ready(connections);
    if (asked !== undefined) await asked;
    return this.#withDays(async () => {
      if (alone || operation.isSteps)
        return connections.transaction((tx) => this.#perform(tx, (inner) => operation.run(inner, items)), {
          lockMs: ALONE_LOCK_MS,
        });
      const from = this.#context.now();
      const running = operation.run(connections, items, true);
      const to = this.#context.now(); // its statement was given a time between the two
      const lost = (some: readonly Item[], error: unknown) => {
        if (!isOutcomeUnknown(error)) return;
        // the answer is lost: whatever may have been touched is woken all the same
        if (operation.touches) this.#wakeUps.lost.add(some.map(operation.touches));
        if (!operation.claims) return;
        const claims = some.map(operation.claims).filter((claim) => claim !== null);
        this.onLostClaims(claims.map((claim) => ({ ...claim, from, to })));
      };
      const run = await running.catch((error) => {
        lost(items, error);
        throw error;
      });
      for (const [at, error] of run.failed ?? []) lost([items[at] as Item], error);
      this.#tell(run);
      return run;
    });
  }

  #tell(run: Outcome): void {
    this.#wakeUps.tell(run.wakes);
    if (run.told && run.told.length > 0) this.#context.effects.afterCommit(run.told);
    this.#observer.transitions?.(run.transitions);
  }

  /** The partitions are made a week ahead; if nobody did, a write says so, and this makes them. */
  async #withDays<T>(run: () => Promise<T>, missed: readonly string[] = []): Promise<T> {
    try {
      return await run();
    } catch (error) {
      const day = missingDay(error);
      if (day === null || missed.includes(day) || missed.length === MOST_DAYS_MISSED) throw error;
      await makeDays(this.#context, this.db, day);
      return this.#withDays(run, [...missed, day]);
    }
  }
}
