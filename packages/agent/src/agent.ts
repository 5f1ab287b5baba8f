import { Backoff, pause } from './backoff.ts';
import { Client } from './client.ts';
import { Deliveries, retryAfter } from './deliveries.ts';
import type { Executor } from './executor.ts';
import { Journal } from './journal.ts';
import type { AgentLog } from './log.ts';
import { Tasks } from './tasks.ts';

/**
 * The agent of a host, with any executor. It asks for work with a long poll, runs each attempt at most once, keeps what
 * takes long, and brings every result to the server, over crashes and outages of both.
 */
export interface AgentOptions {
  readonly server: string;
  /** Read before every request, so a rotated token needs no restart. */
  readonly token: () => Promise<string>;
  /** For the journal; nobody else may use it at the same time. */
  readonly folder: string;
  readonly execute: Executor;
  /** How many actions run at once; 10 by default. */
  readonly maxRunning?: number;
  /** How long a poll waits; 25 seconds by default. */
  readonly waitSeconds?: number;
  /** How long running commands may go on after a stop; 30 seconds by default. */
  readonly graceMs?: number;
  readonly log?: AgentLog;
  /** The waits after failures, shorter in tests. */
  readonly backoff?: { readonly firstMs: number; readonly mostMs: number };
}

export interface Agent {
  /** Resolves after a stop, or rejects if the journal cannot be opened. */
  run(): Promise<void>;
  /** Lets running commands finish for a while, delivers what it can, and ends. */
  stop(): void;
}

const MOST_PER_ANSWER = 10;
const MOST_PER_HEARTBEAT = 500;
const LAST_DELIVERY_MS = 5_000;
/** A heartbeat also tells what was cancelled, which somebody is waiting for. */
const LONGEST_BEAT_MS = 30_000;
const SHORTEST_BEAT_MS = 300;
const IDLE_MS = 1_000;
const silent: AgentLog = { info: () => {}, warn: () => {} };

export function createAgent(options: AgentOptions): Agent {
  const { log = silent, maxRunning = 10, waitSeconds = 25, graceMs = 30_000 } = options;
  const { firstMs, mostMs } = options.backoff ?? { firstMs: 1_000, mostMs: 60_000 };
  const client = new Client(options.server, options.token);
  const stopping = new AbortController();
  const ended = new AbortController();

  async function run(): Promise<void> {
    const journal = await Journal.open(options.folder);
    const deliveries = new Deliveries({
      client,
      journal,
      log,
      backoff: new Backoff(firstMs, mostMs),
      onDelivered: ({ actionId: id, attempt }) => tasks.forget({ id, attempt }),
    });
    const tasks: Tasks = new Tasks({
      execute: options.execute,
      journal,
      log,
      most: maxRunning,
      onResult: (report) => deliveries.add(report, ended.signal),
    });

    for (const { id, attempt } of journal.interrupted)
      await journal.result({
        actionId: id,
        attempt,
        status: 'failed',
        message: 'INTERRUPTED: the agent was restarted while it ran. Nobody knows how far it came.',
      });
    for (const report of journal.undelivered) deliveries.add(report, ended.signal);

    stopping.signal.addEventListener('abort', () => tasks.wake());
    if (stopping.signal.aborted) tasks.wake();
    const beating = beat(tasks);
    await poll(tasks);
    await tasks.stop(graceMs);
    deliveries.giveUp();
    const late = setTimeout(() => ended.abort(), LAST_DELIVERY_MS);
    await deliveries.drained();
    clearTimeout(late);
    ended.abort();
    await beating;
    await journal.close();
  }

  /** Polls until the stop. At the start, and after a request that broke, it first asks what it holds already. */
  async function poll(tasks: Tasks): Promise<void> {
    const { signal } = stopping;
    const failures = new Backoff(firstMs, mostMs);
    const nothing = new Backoff(firstMs, mostMs);
    let isSure = false;
    let wait = waitSeconds;
    while (!signal.aborted) {
      try {
        await tasks.room();
        if (signal.aborted) return;
        if (!isSure) for (const action of await client.running(signal)) tasks.accept(action);
        isSure = true;
        if (tasks.free <= 0) continue;
        const asked = performance.now();
        const { actions, advice } = await client.poll(Math.min(MOST_PER_ANSWER, tasks.free), wait, signal);
        failures.reset();
        for (const action of actions) tasks.accept(action);
        // After a full wait it asks again at once; a server that did not wait is given a rest.
        const waited = wait > 0 && performance.now() - asked > wait * 500;
        if (actions.length === 0 && !waited) await pause(nothing.next(), signal);
        else nothing.reset();
        await pause(advice.afterMs, signal);
        if (advice.waitSeconds !== null) wait = Math.min(waitSeconds, advice.waitSeconds);
      } catch (error) {
        if (signal.aborted) return;
        isSure = false;
        log.warn(`The server could not be asked for work: ${sentenceOf(error)}`);
        await pause(Math.max(failures.next(), retryAfter(error)), signal);
      }
    }
  }

  /** Keeps what is held, three times per lease or more, and hears what was cancelled; also while the agent is stopping. */
  async function beat(tasks: Tasks): Promise<void> {
    while (!ended.signal.aborted) {
      const third = Math.min(...tasks.leaseMs) / 3;
      const everyMs = Number.isFinite(third)
        ? Math.max(SHORTEST_BEAT_MS, Math.min(third, LONGEST_BEAT_MS))
        : IDLE_MS;
      await pause(everyMs, ended.signal);
      const { held } = tasks;
      for (let from = 0; from < held.length && !ended.signal.aborted; from += MOST_PER_HEARTBEAT)
        try {
          const beats = await client.heartbeat(held.slice(from, from + MOST_PER_HEARTBEAT), ended.signal);
          for (const { id, attempt, status, cancelRequested } of beats)
            if (cancelRequested || status === 'cancelled') tasks.cancel({ id, attempt });
        } catch (error) {
          if (!ended.signal.aborted) log.warn(`A heartbeat got no answer: ${sentenceOf(error)}`);
        }
    }
  }

  return { run, stop: () => stopping.abort() };
}

/** fetch says only "fetch failed"; what failed is in the cause. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && cause.message !== ''
    ? `${error.message}: ${cause.message}`
    : error.message;
}
