import type { AgentLog } from './log.ts';
import { ServerRefused, sentenceOf } from './requests.ts';

/** A server that cannot be reached is told of once, then at growing intervals, and once when it answers again. */
const FIRST_MS = 60_000;
const MOST_MS = 3_600_000;

export class Outage {
  readonly #log: AgentLog;
  readonly #now: () => number;
  #since: number | undefined;
  #kind = '';
  #told = 0;
  #silentMs = 0;

  constructor(log: AgentLog, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** What could not be done, in words that the reason follows. */
  failed(what: string, error: unknown): void {
    const now = this.#now();
    // another kind of trouble is news: a server that is there again and refuses
    const kind = error instanceof ServerRefused ? String(error.status) : 'unreachable';
    const isNew = this.#since === undefined || kind !== this.#kind;
    if (!isNew && now - this.#told < this.#silentMs) return;
    const away = this.#since === undefined || isNew ? '' : `, for ${duration(now - this.#since)} now`;
    this.#log.warn(`${what}${away}: ${sentenceOf(error)}`);
    this.#since ??= now;
    this.#kind = kind;
    this.#told = now;
    this.#silentMs = isNew ? FIRST_MS : Math.min(MOST_MS, this.#silentMs * 2);
  }

  answered(): void {
    if (this.#since === undefined) return;
    this.#log.info(`The server answers again, after ${duration(this.#now() - this.#since)}.`);
    this.#since = undefined;
  }
}

/** `3 h 20 min`, `4 min 5 s`, `7 s`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([n]) => n > 0);
  if (first < 0) return '0 s';
  return parts
    .slice(first, first + 2)
    .flatMap(([n, unit]) => (n > 0 ? [`${n} ${unit}`] : []))
    .join(' ');
}
