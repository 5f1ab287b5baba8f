import { BoundedMap, NO_WRITABLE_HOST } from '@muster/engine';
import { reasonOf } from '../database/reason.ts';
import { isDatabaseAway } from '../http/database-away.ts';
import type { Log } from '../http/logging.ts';
import { type After, after } from './after.ts';

/**
 * Errors that no caller is told about. A node without its database has some twenty a second (its heartbeat, duties,
 * listener and pools each try again), so an outage is a line when it begins, one a minute and one at its end. Of other
 * errors each kind has a line a minute, with its stack.
 */
export interface BackgroundOptions {
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly ticks?: () => number;
  readonly later?: After;
}

/**
 * Two heartbeats. The first error is mostly a connection that broke, which says little: a moment later it is known
 * whether the database answers, and of several hosts what each of them says.
 */
export const GATHER_MS = 2_000;
export const AGAIN_MS = 60_000;
const MOST_KINDS = 100;
const MOST_REASONS = 3;

interface Outage {
  readonly since: number;
  errors: number;
  /** Without repetitions. */
  readonly reasons: Set<string>;
  /** What each of several hosts said last. */
  hosts: string | null;
  /** Null: not yet. */
  saidAt: number | null;
  readonly cancel: () => void;
}

export class BackgroundErrors {
  readonly #log: Log;
  readonly #ticks: () => number;
  readonly #later: After;
  readonly #kinds = new BoundedMap<string, { readonly saidAt: number; unsaid: number }>(MOST_KINDS);
  #outage: Outage | null = null;

  constructor({ log, ticks = () => performance.now(), later = after }: BackgroundOptions) {
    this.#log = log;
    this.#ticks = ticks;
    this.#later = later;
  }

  readonly happened = (error: unknown): void => {
    if (!isDatabaseAway(error)) {
      const more = this.#inTurn(String(error));
      if (more) this.#log.error({ err: error, ...more }, 'An error in the background.');
      return;
    }
    const now = this.#ticks();
    this.#outage ??= {
      since: now,
      errors: 0,
      reasons: new Set(),
      hosts: null,
      saidAt: null,
      cancel: this.#later(GATHER_MS, () => this.#sayThatItIsAway()),
    };
    const outage = this.#outage;
    outage.errors += 1;
    if ((error as { code?: unknown }).code === NO_WRITABLE_HOST) outage.hosts = reasonOf(error);
    else if (outage.reasons.size < MOST_REASONS) outage.reasons.add(reasonOf(error));
    if (outage.saidAt === null || now - outage.saidAt < AGAIN_MS) return;
    outage.saidAt = now;
    this.#log.error(
      { errors: outage.errors },
      `${isAway(outage)} This has lasted ${secondsFrom(outage.since, now)}.`,
    );
  };

  /** The database stored something, at this host if it is one of several. */
  answered(where: string | null): void {
    const outage = this.#outage;
    if (!outage) return;
    this.#outage = null;
    outage.cancel();
    if (outage.saidAt === null) {
      const more = this.#inTurn('broken connections', outage.errors);
      if (more)
        this.#log.warn(more, `The database answers, but connections to it broke: ${reasonsOf(outage)}.`);
      return;
    }
    const at = where === null ? '' : `, at ${where}`;
    const { errors, since } = outage;
    this.#log.warn(
      { errors },
      `The database answers again${at}, after ${secondsFrom(since, this.#ticks())}.`,
    );
  }

  /** Nothing more comes: what was gathered is said. */
  end(): void {
    this.#outage?.cancel();
    if (this.#outage?.saidAt === null) this.#sayThatItIsAway();
    this.#outage = null;
  }

  #sayThatItIsAway(): void {
    const outage = this.#outage;
    if (!outage) return;
    outage.saidAt = this.#ticks();
    this.#log.error({ errors: outage.errors }, isAway(outage));
  }

  /** Null: this kind had its line. Otherwise how many were left out since then. */
  #inTurn(kind: string, errors = 1): { readonly errors?: number } | null {
    const known = this.#kinds.get(kind);
    const now = this.#ticks();
    if (known && now - known.saidAt < AGAIN_MS) {
      known.unsaid += errors;
      return null;
    }
    this.#kinds.delete(kind);
    this.#kinds.set(kind, { saidAt: now, unsaid: 0 });
    const all = errors + (known?.unsaid ?? 0);
    return all > 1 ? { errors: all } : {};
  }
}

const reasonsOf = ({ hosts, reasons }: Outage) => [...reasons, ...(hosts ? [hosts] : [])].join('; ');

/** What each host says contains the other reasons. */
const isAway = (outage: Outage) =>
  outage.hosts === null ? `The database does not answer: ${reasonsOf(outage)}.` : `${outage.hosts}.`;

const secondsFrom = (from: number, to: number) => `${Math.round((to - from) / 1_000)} s`;
