import { CLOCK_MS, type DatabaseClock } from './database-clock.ts';
import type { Queryable } from './db.ts';
import type { Duty } from './duties/duty.ts';
import type { Context } from './operation.ts';

/**
 * One node at a time does the housekeeping of the whole database. Leadership is a row that expires after five
 * seconds. It only saves work: every duty is safe with two leaders, so if the row cannot be read the duties run all
 * the same.
 */
const TURN_MS = 1_000;
/** A node silent for this long counts as dead; others no longer notify it. */
const PATIENCE_OF_OTHERS = `interval '15 seconds'`;
/** Less than that: others may have looked while our sign of life was on its way. */
const SILENT = `interval '10 seconds'`;
/** Its transaction is stuck on a connection whose peer is gone: the other duties do not wait for it. */
const PATIENCE_MS = 60_000;

export interface HousekeepingOptions {
  readonly schema: string;
  readonly nodeId: string;
  readonly client: Queryable;
  readonly context: Pick<Context, 'isDistributed' | 'now' | 'ready'>;
  /** Adjusted with every sign of life. */
  readonly clock: DatabaseClock;
  readonly duties: readonly Duty[];
  /** Runs a duty with the effects of its transitions. */
  readonly run: (duty: Duty) => Promise<{
    readonly count: number;
    readonly more: boolean;
    readonly errors?: readonly unknown[];
  }>;
  /** Called before the nodes are counted; the function it returns is called after. */
  readonly counting: () => (others: readonly string[]) => void;
  readonly afterBeat: () => Promise<void>;
  /** The database stored a sign of life. */
  readonly onAlive?: () => void;
  /** For tests. */
  readonly afterTurn?: () => void;
  readonly onError: (error: unknown) => void;
  readonly onDuty?: (duty: string, count: number, seconds: number) => void;
  /** How long one duty may keep the others waiting. */
  readonly patienceMs?: number;
  /** Monotonic milliseconds, to measure a turn. */
  readonly ticks?: () => number;
}

export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #ticks: () => number;
  readonly #nextAt = new Map<string, number>();
  readonly #timers = new Map<'beat' | 'turn', NodeJS.Timeout>();
  readonly #running = new Map<'beat' | 'turn', Promise<unknown>>();
  #stopped = true;
  leading = false;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#ticks = options.ticks ?? (() => performance.now());
  }

  start(): void {
    this.#stopped = false;
    this.#schedule('beat', 0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#running.values());
    await this.#options.client
      .query({
        text: `with l as (delete from ${this.#options.schema}.leaders where node_id = $1) delete from ${this.#options.schema}.nodes where node_id = $1`,
        values: [this.#options.nodeId],
      })
      .catch(this.#options.onError);
  }

  #schedule(what: 'beat' | 'turn', inMs: number): void {
    const timer = setTimeout(() => {
      let left = false;
      const running = (what === 'beat' ? this.beat() : this.turn())
        .then((more) => {
          left = more;
        })
        .finally(() => {
          if (this.#stopped) return;
          this.#schedule(what, left ? 0 : TURN_MS);
          if (!this.#timers.has('turn')) this.#schedule('turn', 0); // the first one knows who leads
        });
      this.#running.set(what, running);
    }, inMs);
    this.#timers.set(what, timer);
  }

  /** A sign of life each second, however long the duties take: others stop notifying a node they do not hear from. */
  async beat(): Promise<boolean> {
    await this.lead();
    await this.#options.afterBeat().catch(this.#options.onError);
    return false;
  }

  /** One second's work. Returns whether something is left; then the next turn begins at once. */
  async turn(): Promise<boolean> {
    const isLeft = this.leading && (await this.#rounds());
    this.#options.afterTurn?.();
    return isLeft;
  }

  /**
   * Runs all due duties, one round of each in turn, until none has more to do or the second is over. So a backlog of
   * one delays the others by no more than one of its rounds.
   */
  async #rounds(): Promise<boolean> {
    const until = this.#ticks() + TURN_MS;
    const turn = this.#options.duties.filter((duty) => this.#ticks() >= (this.#nextAt.get(duty.name) ?? 0));
    const due = await this.#due(turn);
    for (const duty of turn) this.#nextAt.set(duty.name, this.#ticks() + duty.everyMs - TURN_MS / 2);
    let left = turn.filter((duty) => due.has(duty));
    do {
      const again: Duty[] = [];
      for (const duty of left) {
        if (this.#stopped) return false;
        if (await this.#perform(duty)) again.push(duty);
      }
      left = again;
    } while (left.length > 0 && this.#ticks() < until);
    for (const duty of left) this.#nextAt.set(duty.name, 0);
    return left.length > 0;
  }

  /** The duties that have something to do, found by one query for all: an idle server asks little. */
  async #due(duties: readonly Duty[]): Promise<Set<Duty>> {
    if (this.#options.context.isDistributed) return new Set(duties); // each asks whose turn it is
    const asked = duties.filter((duty) => duty.due !== undefined);
    const always = duties.filter((duty) => duty.due === undefined);
    if (asked.length === 0) return new Set(always);
    const { client, context } = this.#options;
    try {
      await context.ready(client);
      const { rows } = await client.query({
        text: `select ${asked.map((duty, n) => `(${duty.due}) as due_${n}`).join(', ')}`,
        values: [context.now()],
      });
      return new Set([...always, ...asked.filter((_, n) => rows[0][`due_${n}`])]);
    } catch (error) {
      this.#options.onError(error);
      return new Set(duties);
    }
  }

  /** One round; returns whether there is more to do. */
  async #perform(duty: Duty): Promise<boolean> {
    try {
      const began = performance.now();
      const { count, more, errors = [] } = await this.#inTime(duty);
      this.#options.onDuty?.(duty.name, count, (performance.now() - began) / 1_000);
      for (const error of errors) this.#options.onError(error);
      return more;
    } catch (error) {
      this.#options.onError(error);
      return false;
    }
  }

  /** If it ends after all, nothing is lost: every duty is safe when it runs twice at the same time. */
  async #inTime(duty: Duty): ReturnType<HousekeepingOptions['run']> {
    const { patienceMs = PATIENCE_MS, run } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`The duty ${duty.name} did not finish within ${patienceMs} ms.`)),
        patienceMs,
      );
    });
    return Promise.race([run(duty), late]).finally(() => clearTimeout(timer));
  }

  /**
   * Takes or keeps the lead, records that this node is alive, learns which others are, and ticks, all in one
   * statement. If its last sign of life is so old that others may have counted it dead (it stalled, or is new), it
   * announces itself: their answers show that they know it again, and it looks for what it missed.
   */
  async lead(): Promise<boolean> {
    const { schema: s, nodeId, client, clock } = this.#options;
    const counted = this.#options.counting();
    try {
      const sentAt = clock.start();
      // Leadership uses real time, whatever clock the actions use.
      const { rows } = await client.query({
        name: 'muster_lead',
        text: `
          with n as (
            insert into ${s}.nodes as n (node_id, seen_at) values ($1, now())
              on conflict (node_id) do update set seen_at = excluded.seen_at
          ), l as (
            insert into ${s}.leaders as l (name, node_id, expires_at) values ('housekeeping', $1, now() + interval '5 seconds')
              on conflict (name) do update set node_id = excluded.node_id, expires_at = excluded.expires_at
              where l.node_id = excluded.node_id or l.expires_at < now()
              returning pg_notify($2, 'tick')
          ), g as (
            delete from ${s}.nodes where seen_at < now() - interval '1 minute' and node_id <> $1
          )
          select exists (select 1 from l) as leading,
            array(select node_id from ${s}.nodes where seen_at > now() - ${PATIENCE_OF_OTHERS} and node_id <> $1) as others,
            case when not exists (select 1 from ${s}.nodes where node_id = $1 and seen_at > now() - ${SILENT})
              then pg_notify($2, 'node ' || $1) end, ${CLOCK_MS} as clock_ms`,
        values: [nodeId, channelOf(s)],
      });
      clock.measured(sentAt, rows[0].clock_ms);
      counted(rows[0].others);
      this.leading = rows[0].leading;
      this.#options.onAlive?.();
    } catch (error) {
      this.#options.onError(error);
      this.leading = true;
    }
    return this.leading;
  }
}

/** Notifications are named after the schema, so several installations can share a database. */
export function channelOf(schema: string): string {
  return schema.replaceAll('"', '');
}
