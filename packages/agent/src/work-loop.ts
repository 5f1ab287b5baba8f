import path from 'node:path';
import { Attempts } from './attempts.ts';
import { Backoff, pause } from './backoff.ts';
import { Deliveries } from './deliveries.ts';
import { elsewhereLog } from './elsewhere.ts';
import type { Executor } from './executor.ts';
import { Journal } from './journal.ts';
import { keptRandom } from './kept-text.ts';
import { endLeftovers } from './leftovers.ts';
import type { AgentLog } from './log.ts';
import { Outage } from './outage.ts';
import type { Report } from './report.ts';
import { retryAfter, ServerRefused, sentenceOf } from './requests.ts';
import type { AttemptTracing } from './tracing.ts';
import type { Work, WorkServer } from './work.ts';

/**
 * The common part of the agent of a host and the runner of a PC: asks for work with a long poll, runs each attempt at
 * most once, sends heartbeats, and delivers every result to the server, across crashes and outages of both.
 */
export interface LoopSettings {
  /** For the journal; no other process may use it at the same time. */
  readonly folder: string;
  readonly maxRunning: number;
  /** How long a poll waits. */
  readonly waitSeconds?: number | undefined;
  /** How long running commands may go on after a stop; 30 seconds by default. */
  readonly graceMs?: number | undefined;
  readonly log?: AgentLog | undefined;
  readonly tracing?: AttemptTracing | undefined;
  /** The waits after failures, shorter in tests. */
  readonly backoff?:
    | { readonly firstMs: number; readonly mostMs: number; readonly leastMs?: number }
    | undefined;
}

/** The differences between the two. */
export interface LoopKind<W extends Work> {
  readonly server: WorkServer<W>;
  readonly execute: Executor<W>;
  readonly mostPerAnswer: number;
  readonly deliveriesAtOnce: number;
  readonly noun: string;
  readonly laneOf: (work: W) => string;
  readonly nameOf: (work: W) => string;
  readonly reduce: (report: Report, status: number) => Report | null;
  /** The reports of attempts that a crash or a stop has cut off. */
  readonly interruptedMessage: string;
  readonly stoppedMessage: string;
  /** For what it sends heartbeats, and how often. */
  readonly alive: (attempts: Attempts<W>) => W[];
  readonly beatMs: (alive: readonly W[]) => number;
  /** The environment of an attempt's processes, which no other process has. */
  readonly marksOf: (of: { id: string; attempt: number }) => Readonly<Record<string, string>>;
  /** Between asking leftover processes of a crash to end, and killing them. */
  readonly killAfterMs?: number | undefined;
  readonly onStarted?: (work: W) => void;
  /** A sentence, if nothing can be run at the moment: then nothing is taken. */
  readonly obstacle?: () => Promise<string | null>;
  /** For the log: `agent`. */
  readonly program: string;
  /** Refusals of the very first request that mean the token is wrong. Later ones are tried again. */
  readonly refusals: readonly number[];
}

export interface WorkLoop {
  /**
   * Resolves after a stop, with the number of results that the server does not have yet. Rejects with a `ServerRefused`
   * if the token is refused at the start.
   */
  run(): Promise<{ undelivered: number }>;
  /** Lets running commands finish for a while, delivers what it can, and ends. With `now` they are ended at once. */
  stop(now?: boolean): void;
}

const LAST_DELIVERY_MS = 5_000;
const silent: AgentLog = { info: () => {}, warn: () => {} };

export function createWorkLoop<W extends Work>(settings: LoopSettings, kind: LoopKind<W>): WorkLoop {
  const { folder, log = silent, maxRunning, tracing, waitSeconds = 25, graceMs = 30_000 } = settings;
  const { backoff = { firstMs: 1_000, mostMs: 60_000 } } = settings;
  const { server } = kind;
  const outage = new Outage(log, backoff.leastMs);
  const sayElsewhere = elsewhereLog((sentence) => log.warn(sentence), kind);
  const stopping = new AbortController();
  const hurrying = new AbortController();
  const ended = new AbortController();

  async function run(): Promise<{ undelivered: number }> {
    const journal = await Journal.open(folder);
    server.introduce(await keptRandom(path.join(folder, 'instance'), 'hex'));
    const deliveries = new Deliveries({
      ...kind,
      journal,
      log,
      atOnce: kind.deliveriesAtOnce,
      backoff,
      outage,
      onDelivered({ actionId: id, attempt }) {
        attempts.forget({ id, attempt });
        tracing?.delivered(id);
      },
      signal: ended.signal,
    });
    const attempts: Attempts<W> = new Attempts({
      ...kind,
      journal,
      log,
      most: maxRunning,
      tracing,
      onResult: (report, endedAt) => deliveries.add(report, endedAt),
    });

    const { interrupted } = journal;
    // Before anything is started or reported: processes of before a crash may not have ended by themselves.
    const left = await endLeftovers(interrupted.map(kind.marksOf), kind.killAfterMs);
    if (left > 0) log.warn(`Interrupted attempts had left processes behind (${left}); they were stopped.`);
    for (const { id: actionId, attempt } of interrupted)
      await journal.result({ actionId, attempt, status: 'failed', message: kind.interruptedMessage });
    const { undelivered } = journal;
    if (undelivered.length > 0)
      log.info(`Results from earlier runs still to be delivered: ${undelivered.length}.`);
    for (const report of undelivered) deliveries.add(report);

    stopping.signal.addEventListener('abort', () => attempts.wake());
    if (stopping.signal.aborted) attempts.wake();
    hurrying.signal.addEventListener('abort', () => attempts.endAll());
    const beating = beat(attempts);
    const refused = await poll(attempts, journal);
    await attempts.stop(hurrying.signal.aborted ? 0 : graceMs);
    deliveries.giveUp();
    const late = setTimeout(() => ended.abort(), LAST_DELIVERY_MS);
    await deliveries.drained();
    clearTimeout(late);
    ended.abort();
    await beating;
    await journal.close();
    if (refused) throw refused;
    return { undelivered: journal.undelivered.length };
  }

  /**
   * Polls until the stop, or until the first request is refused. At the start, and after a failed request, it first
   * asks what it already holds.
   */
  async function poll(attempts: Attempts<W>, journal: Journal): Promise<ServerRefused | null> {
    const { signal } = stopping;
    const failures = new Backoff(backoff.firstMs, backoff.mostMs);
    const nothing = new Backoff(backoff.firstMs, backoff.mostMs);
    let isSure = false;
    let wasAnswered = false;
    let wait = waitSeconds;
    while (!signal.aborted) {
      try {
        await attempts.room();
        if (signal.aborted) break;
        const obstacle = (await unwritable(journal)) ?? (await kind.obstacle?.());
        if (obstacle) {
          log.warn(obstacle);
          await pause(failures.next(), signal);
          continue;
        }
        if (!isSure) {
          const held = await server.running(signal);
          outage.answered();
          for (const work of held.work) attempts.accept(work);
          sayElsewhere(held.elsewhere);
        }
        isSure = true;
        wasAnswered = true;
        if (attempts.free <= 0) continue;
        const asked = performance.now();
        const polled = await server.poll(Math.min(kind.mostPerAnswer, attempts.free), wait, signal);
        const { work, advice } = polled;
        failures.reset();
        outage.answered();
        for (const one of work) attempts.accept(one);
        for (const stop of polled.stops) attempts.cancel(stop, stop.why);
        sayElsewhere(polled.elsewhere);
        // After a full wait it asks again at once; a server that did not wait is given a pause.
        const waited = wait > 0 && performance.now() - asked > wait * 500;
        if (work.length === 0 && !waited) await pause(nothing.next(), signal);
        else nothing.reset();
        await pause(advice.afterMs, signal);
        if (advice.waitSeconds !== null) wait = Math.min(waitSeconds, advice.waitSeconds);
      } catch (error) {
        if (signal.aborted) break;
        if (!wasAnswered && isRefusal(error)) return error;
        isSure = false;
        outage.failed('a request for work', error);
        await outage.pause(failures.next(), retryAfter(error), signal);
      }
    }
    return null;
  }

  /**
   * Refused by the server itself: a proxy with the same status sends no code, and may have lost the server for a
   * moment.
   */
  function isRefusal(error: unknown): error is ServerRefused {
    return error instanceof ServerRefused && error.code !== null && kind.refusals.includes(error.status);
  }

  /**
   * Runs during a stop too: running attempts may be cancelled. The request waits at the server for that; it is sent
   * anew if an accepted attempt must be extended before the wait would end.
   */
  async function beat(attempts: Attempts<W>): Promise<void> {
    const { signal } = ended;
    let isSure = true;
    while (!signal.aborted) {
      const alive = kind.alive(attempts);
      const ms = alive.length > 0 ? kind.beatMs(alive) : Number.POSITIVE_INFINITY;
      const began = performance.now();
      const anew = new AbortController();
      const stopListening = attempts.onAccepted(() => {
        if (performance.now() + kind.beatMs(kind.alive(attempts)) < began + ms) anew.abort();
      });
      const either = AbortSignal.any([signal, anew.signal]);
      try {
        if (alive.length === 0) await aborted(either);
        else await beatOnce(attempts, alive, ms, isSure, either);
        isSure = true;
      } catch (error) {
        if (either.aborted) continue;
        isSure = false;
        outage.failed('a heartbeat', error);
        await outage.pause(began + ms - performance.now(), retryAfter(error), either);
      } finally {
        stopListening();
      }
    }
  }

  async function beatOnce(
    attempts: Attempts<W>,
    alive: readonly W[],
    ms: number,
    isSure: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const began = performance.now();
    // After a failure it does not wait, to notice at once that the server is back; the next request waits again.
    const wait = isSure ? Math.min(waitSeconds, Math.floor(ms / 1_000)) : 0;
    const named = alive.map(({ id, attempt }) => ({
      id,
      attempt,
      stopping: attempts.isStopping({ id, attempt }),
    }));
    const stops = await server.beat(named, wait, signal);
    outage.answered();
    const news = stops.filter((stop) => attempts.cancel(stop, stop.why));
    // After a full wait it asks again at once; a server that did not wait, and had no news, is given a pause.
    const waited = wait > 0 && performance.now() - began > wait * 500;
    if (isSure && news.length === 0 && !waited) await pause(began + ms - performance.now(), signal);
  }

  return {
    run,
    stop(now = false) {
      stopping.abort();
      if (now) hurrying.abort();
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** On a full disk nothing can be started, so nothing is taken: it would fail device by device. */
function unwritable(journal: Journal): Promise<string | null> {
  return journal.mend().then(
    () => null,
    (error) => `No work is taken while the journal cannot be written: ${sentenceOf(error)}`,
  );
}
