import { ofOne } from './by-tenant.ts';
import { type Database, isTransaction, type Queryable } from './db.ts';
import { makeDays } from './duties/keep-days.ts';
import { Gatherer, tenantOf } from './gatherer.ts';
import { refuseInsideTransaction } from './open-transaction.ts';
import { BUSY, type Busy, type Context, type Operation, type Run } from './operation.ts';
import { Places } from './places.ts';
import type { RoomSize } from './room.ts';
import { runDirectly } from './run-directly.ts';
import { isDataError, isLockError, isOutcomeUnknown, missingDay } from './sqlstate.ts';
import type { LostClaim, Transition } from './transition.ts';
import type { WakeUps } from './wake-ups.ts';
import { whileLocked } from './while-locked.ts';

/** Receives everything that happens, for metrics; must not throw. */
export interface Observer {
  batch?(operation: string, size: number, seconds: number): void;
  duty?(duty: string, count: number, seconds: number): void;
  transitions?(transitions: readonly Transition[], by: Ran): void;
  late?(tenantId: number): void;
  /** In the asynchronous context of a claim that waits: it was woken, and looks again. */
  woken?(): void;
}

/** What made the transitions. */
export interface Ran {
  /** The gathered operation; undefined: a call of its own. */
  readonly operation?: string | undefined;
  /** How many calls shared it. */
  readonly size: number;
  /** When it began, by `performance.now()`. */
  readonly since: number;
}

type Outcome = Pick<Run<never>, 'transitions' | 'wakes' | 'told'>;

/** The most calls that run alone, of all kinds; the other connections stay free for other callers. */
const MOST_ALONE = 3;
/** A call that runs alone gives up on a lock after this time, and is retried: between tries it holds nothing. */
const ALONE_LOCK_MS = 100;

/** Days of history that a statement writes to: today's, and those of the SENT events it writes down. */
const MOST_DAYS_MISSED = 50;

/**
 * How an operation reaches the database: gathered with others and committed by itself if the engine's own database is
 * passed, or at once on the caller's transaction or client. Either way, wake-ups and facts of effects go out after
 * the commit.
 */
export class Calls {
  readonly db: Database;
  readonly #context: Context;
  readonly #wakeUps: WakeUps;
  readonly #observer: Observer;
  readonly #room: RoomSize | undefined;
  /** Set by the engine, because giving back a claim whose answer was lost is a report, which is a call itself. */
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

  /**
   * A gathered operation: one item in, its answer out. An answer that arrives after the caller's deadline goes to
   * `unwanted`.
   */
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

  /** Many items of one caller. `whole`: all or nothing, even where each statement would be its own transaction. */
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
        (some) => this.inside(client, (inner) => operation.run(this.#of(inner, operation, some), some)),
        null,
        this.db.isDistributed,
      );
    const commit = async (some: readonly Item[]): Promise<Run<Answer | Busy>> => {
      try {
        const run = await this.#commit(operation, some, false);
        // these are retried without the others, and fail by themselves if they must
        for (const error of run.failed?.values() ?? [])
          if (!isLockError(error) && !isDataError(error)) throw error;
        return run;
      } catch (error) {
        // rolled back, so it can be retried like a locked lane
        if (isLockError(error)) return { answers: some.map(() => BUSY), transitions: [], wakes: [] };
        throw error;
      }
    };
    return runDirectly(operation, items, commit, this.db.deadlineMs, this.db.isDistributed);
  }

  /** Runs an operation that is not gathered, with its wake-ups; in its own transaction if none was passed. */
  inside<R extends Outcome>(client: Queryable, perform: (client: Queryable) => Promise<R>): Promise<R> {
    if (client !== this.db) return this.#perform(client, perform);
    return this.#inOwn((tx) => this.#perform(tx, perform));
  }

  async #perform<R extends Outcome>(
    client: Queryable,
    perform: (client: Queryable) => Promise<R>,
  ): Promise<R> {
    await this.#context.ready(client);
    const by = { size: 1, since: performance.now() };
    const run = await perform(client);
    if (isTransaction(client)) {
      client.afterCommit(() => this.#tell(run, by));
      client.ifInDoubt(() => {
        this.#wakeUps.lost.add(run.wakes);
        this.onLostClaims(run.transitions.filter(({ events }) => events.includes('SENT')));
      });
    } else {
      await this.#wakeUps.tellInside(client, run.wakes);
      this.#observer.transitions?.(run.transitions, by);
    }
    return run;
  }

  #inOwn<T>(run: (tx: Queryable) => Promise<T>): Promise<T> {
    refuseInsideTransaction();
    return this.#withDays(() => whileLocked(this.db, run));
  }

  /** One round of a duty, with its wake-ups, in a transaction on the duties' connections. */
  inHousekeeping<R extends Outcome>(perform: (client: Queryable) => Promise<R>): Promise<R> {
    return this.#withDays(() => this.db.housekeeping.transaction((tx) => this.#perform(tx, perform)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#gatherers.map((gatherer) => gatherer.close()));
  }

  /**
   * A gathered statement is its own transaction: BEGIN and COMMIT would add two round trips. A call that runs alone
   * stays off the connections of the batches.
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
        return connections.transaction(
          (tx) => this.#perform(tx, (inner) => operation.run(this.#of(inner, operation, items), items)),
          {
            lockMs: ALONE_LOCK_MS,
          },
        );
      const by = { operation: operation.name, size: items.length, since: performance.now() };
      const from = this.#context.now();
      const running = operation.run(this.#of(connections, operation, items), items, true);
      const to = this.#context.now(); // its statement was given a time between these two
      const lost = (some: readonly Item[], error: unknown) => {
        if (!isOutcomeUnknown(error)) return;
        // the answer is lost, so everything it may have touched is woken
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
      this.#tell(run, by);
      return run;
    });
  }

  /** On a distributed database these items are of one tenant, and so are their statements. */
  #of<Client extends Queryable, Item>(
    client: Client,
    operation: Pick<Operation<Item, never>, 'tenant'>,
    [item]: readonly Item[],
  ): Client {
    return item === undefined ? client : ofOne(this.db, client, operation.tenant?.(item) ?? tenantOf(item));
  }

  #tell(run: Outcome, by: Ran): void {
    this.#wakeUps.tell(run.wakes);
    if (run.told && run.told.length > 0) this.#context.effects.afterCommit(run.told);
    this.#observer.transitions?.(run.transitions, by);
  }

  /**
   * Partitions are made a week ahead. If one is missing all the same, the write fails with that error and this makes
   * it.
   */
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
