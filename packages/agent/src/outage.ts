import { pause } from './backoff.ts';
import type { AgentLog } from './log.ts';
import { isAway, NoToken, ServerRefused, sentenceOf } from './requests.ts';

/**
 * What all loops of a process know about a server that is unreachable or fails. Each waits by itself; the first answer
 * that one of them gets wakes the others. The log has one line when it starts, then more at growing intervals, and one
 * when it is over.
 */
const FIRST_MS = 60_000;
const MOST_MS = 3_600_000;
/** A server that answers one request and fails another would otherwise be asked without a pause. */
const LEAST_WAIT_MS = 500;

/**
 * One kind of trouble. The time of its last line outlives its end, so that trouble that comes and goes does not fill
 * the log.
 */
interface Trouble {
  since: number | undefined;
  told: number;
  lines: number;
}

export class Outage {
  readonly #log: AgentLog;
  readonly #leastMs: number;
  readonly #now: () => number;
  readonly #troubles = new Map<string, Trouble>();
  #since: number | undefined;
  #over = new AbortController();

  constructor(log: AgentLog, leastMs = LEAST_WAIT_MS, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#leastMs = leastMs;
    this.#now = now;
  }

  get isOn(): boolean {
    return this.#since !== undefined;
  }

  /** The request that failed: `a heartbeat`. */
  failed(what: string, error: unknown): void {
    const now = this.#now();
    // another kind of trouble is news: for example a server that is back and refuses
    const kind = kindOf(error);
    const trouble = this.#troubles.get(kind) ?? {
      since: undefined,
      told: Number.NEGATIVE_INFINITY,
      lines: 0,
    };
    this.#troubles.set(kind, trouble);
    this.#since ??= now;
    trouble.since ??= now;
    if (now - trouble.told < Math.min(MOST_MS, FIRST_MS * 2 ** Math.max(0, trouble.lines - 1))) return;
    this.#log.warn(sentence(kind, what, error, now - trouble.since));
    trouble.told = now;
    trouble.lines += 1;
  }

  answered(): void {
    if (this.#since === undefined) return;
    const told = [...this.#troubles].flatMap(([kind, { lines }]) => (lines > 0 ? [kind] : []));
    const again = told.every((kind) => kind === TOKEN) ? 'accepts the token again' : 'answers again';
    if (told.length > 0) this.#log.info(`The server ${again}, after ${duration(this.#now() - this.#since)}.`);
    this.#since = undefined;
    for (const trouble of this.#troubles.values()) Object.assign(trouble, { since: undefined, lines: 0 });
    this.#over.abort();
    this.#over = new AbortController();
  }

  /**
   * After a failure: waits this long, or until another loop gets an answer, but not less than the server has asked for.
   */
  async pause(ms: number, askedMs: number, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#over.signal]);
    const began = this.#now();
    await pause(Math.max(askedMs, Math.min(ms, this.#leastMs)), signal);
    await pause(ms - (this.#now() - began), either);
  }
}

const AWAY = 'away';
const TOKEN = 'token';
const NOT_UNDERSTOOD = 'not understood';

function kindOf(error: unknown): string {
  if (error instanceof NoToken) return TOKEN;
  if (error instanceof ServerRefused) return [401, 403].includes(error.status) ? TOKEN : String(error.status);
  return isAway(error) ? AWAY : NOT_UNDERSTOOD;
}

function sentence(kind: string, what: string, error: unknown, ms: number): string {
  const reason = sentenceOf(error);
  // one that came back soon was not logged at once
  const isNew = ms < 1_000;
  const time = duration(ms);
  if (error instanceof NoToken)
    return `${isNew ? 'There is no token' : `There has been no token for ${time}`}; reading its file again: ${reason}`;
  if (kind === TOKEN)
    return isNew
      ? `The server rejects the token; trying again with the current content of its file: ${reason}`
      : `The server has rejected the token for ${time}: ${reason}`;
  if (kind === AWAY)
    return isNew
      ? `The server does not answer; trying again: ${reason}`
      : `The server has not answered for ${time}: ${reason}`;
  if (kind === NOT_UNDERSTOOD)
    return `The response to ${what} is not valid${isNew ? '' : `, for ${time} now`}; trying again: ${reason}`;
  return isNew
    ? `The server answers ${what} with an error; trying again: ${reason}`
    : `The server has answered with errors for ${time}, now ${what}: ${reason}`;
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
