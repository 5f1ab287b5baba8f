import { latest, split, sum } from './counters.ts';
import type { FromMember, Listening, Metrics, ToMember } from './messages.ts';

/** A server process, as `node:cluster` starts it. */
export interface Child {
  readonly pid: number | undefined;
  send(message: ToMember): void;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  onMessage(heard: (message: FromMember) => void): void;
  onExit(ended: (code: number | null) => void): void;
}

export interface SupervisorOptions {
  readonly count: number;
  readonly fork: () => Child;
  /** A listening process that is told to stop is ended after this time. */
  readonly stopMs: number;
  readonly log: (sentence: string, more: object) => void;
  /** For tests: the clock and its timers. */
  readonly now?: () => number;
  readonly later?: (ms: number, then: () => void) => () => void;
}

/** The pause before a process is replaced: doubled with each one that ended soon after its start. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A process that has served this long did not fail at its start. */
const SERVED_MS = 60_000;
/** A process that does not send its metrics in time is left out, except for what it counted before. */
const METRICS_MS = 2_000;
/** How often each is asked whether it is alive. A busy process answers late; one that hangs, never. */
const ALIVE_MS = 5_000;
const MOST_UNANSWERED = 6;

interface Member {
  readonly child: Child;
  readonly since: number;
  listening: boolean;
  /** Unanswered questions in a row since its last message. */
  unanswered: number;
  /** The highest counters received. */
  counters: Metrics;
}

type Start = Listening | { readonly code: number };

/** A question of one process that the others have not all answered. */
interface Asking {
  readonly from: Member;
  readonly theirId: number;
  readonly waited: Set<Member>;
  readonly gauges: Map<Member, Metrics>;
  /** Ends the wait for them. */
  readonly end: () => void;
}

/**
 * Several server processes behind one port, each a node of its own. The first starts alone: it migrates, and if it
 * cannot serve, no other could. From then on each process that ends is replaced, and each that hangs is ended.
 */
export class Supervisor {
  readonly #options: Required<SupervisorOptions>;
  readonly #members = new Set<Member>();
  /** Each cancels a timer that must not outlive the service. */
  readonly #timers = new Set<() => void>();
  readonly #asking = new Map<number, Asking>();
  /** Counters of processes that ended: a counter must never fall. */
  #ended: Metrics = [];
  #lastId = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #serves = false;
  #stopping: Promise<void> | undefined;
  #allEnded = () => {};

  constructor(options: SupervisorOptions) {
    this.#options = { now: () => performance.now(), later, ...options };
  }

  /** The first process's report once all listen; its exit code if it ended before. */
  async start(): Promise<Start> {
    const first = await this.#begin();
    if ('code' in first || this.#stopping !== undefined) return first;
    this.#serves = true;
    this.#after(ALIVE_MS, () => this.#askWhoIsAlive());
    await Promise.all(Array.from({ length: this.#options.count - 1 }, () => this.#begin()));
    return first;
  }

  /** Each finishes its work, or is ended. */
  stop(): Promise<void> {
    this.#stopping ??= new Promise((resolve) => {
      this.#allEnded = resolve;
      for (const cancel of this.#timers) cancel();
      for (const member of this.#members) {
        member.child.kill('SIGTERM');
        if (member.listening) this.#mustEnd(member);
      }
      if (this.#members.size === 0) resolve();
    });
    return this.#stopping;
  }

  /** Resolves when it listens, or has ended before. */
  #begin(): Promise<Start> {
    const { fork, now } = this.#options;
    const member: Member = { child: fork(), since: now(), listening: false, unanswered: 0, counters: [] };
    this.#members.add(member);
    return new Promise((resolve) => {
      member.child.onMessage((message) => {
        member.unanswered = 0;
        if (message.muster === 'ask') this.#ask(member, message.id, message.metrics);
        else if (message.muster === 'metrics') this.#answer(message.id, member, message.metrics);
        else if (message.muster === 'listening') {
          member.listening = true;
          if (this.#stopping !== undefined) this.#mustEnd(member);
          resolve(message);
        }
      });
      member.child.onExit((code) => {
        this.#members.delete(member);
        this.#ended = sum(this.#ended, member.counters);
        for (const id of this.#asking.keys()) this.#answer(id, member);
        resolve({ code: code ?? 1 });
        if (this.#stopping !== undefined) {
          if (this.#members.size === 0) this.#allEnded();
        } else if (this.#serves) this.#replace(member, code);
      });
    });
  }

  #replace({ child, listening, since }: Member, code: number | null): void {
    const { log, now } = this.#options;
    if (listening && now() - since >= SERVED_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const ms = this.#pauseMs;
    this.#pauseMs = Math.min(2 * ms, LONGEST_PAUSE_MS);
    log('A server process has ended and will be replaced.', { process: child.pid, code, inMs: ms });
    this.#after(ms, () => void this.#begin());
  }

  /** Counts questions instead of seconds: if this process itself stood still, it has asked only once meanwhile. */
  #askWhoIsAlive(): void {
    for (const member of this.#members) {
      const { child, listening, unanswered } = member;
      if (!listening) continue; // a start takes its time
      if (unanswered === MOST_UNANSWERED) {
        this.#options.log('A server process does not answer and is killed.', { process: child.pid });
        child.kill('SIGKILL');
      } else child.send({ muster: 'alive?' });
      member.unanswered += 1;
    }
    this.#after(ALIVE_MS, () => this.#askWhoIsAlive());
  }

  /** A process that is still starting stops after its start: it may be migrating, so it is not interrupted. */
  #mustEnd(member: Member): void {
    const { later, log, stopMs } = this.#options;
    later(stopMs, () => {
      if (!this.#members.has(member)) return;
      log('A server process does not stop and is killed.', { process: member.child.pid });
      member.child.kill('SIGKILL');
    });
  }

  #after(ms: number, then: () => void): void {
    const cancel = this.#options.later(ms, () => {
      this.#timers.delete(cancel);
      then();
    });
    this.#timers.add(cancel);
  }

  /** One process asks for the metrics of all. */
  #ask(from: Member, theirId: number, metrics: Metrics): void {
    this.#lastId += 1;
    const id = this.#lastId;
    const others = [...this.#members].filter((one) => one !== from && one.listening);
    const end = this.#options.later(METRICS_MS, () => {
      for (const other of others) this.#answer(id, other);
    });
    this.#asking.set(id, { end, from, theirId, gauges: new Map(), waited: new Set([from, ...others]) });
    for (const { child } of others) child.send({ muster: 'metrics?', id });
    this.#answer(id, from, metrics);
  }

  /** Without metrics: it will not answer any more. */
  #answer(id: number, of: Member, metrics?: Metrics): void {
    const asking = this.#asking.get(id);
    if (metrics) {
      const { counters, gauges } = split(metrics);
      of.counters = latest(of.counters, counters);
      asking?.gauges.set(of, gauges);
    }
    if (!asking) return;
    asking.waited.delete(of);
    if (asking.waited.size > 0) return;
    this.#asking.delete(id);
    asking.end();
    if (!this.#members.has(asking.from)) return;
    const all = [...this.#members].flatMap((one) => [one.counters, asking.gauges.get(one) ?? []]);
    asking.from.child.send({ muster: 'metrics of all', id: asking.theirId, metrics: [this.#ended, ...all] });
  }
}

function later(ms: number, then: () => void): () => void {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}
