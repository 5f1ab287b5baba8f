import type { HeldDevices, TaskDeviceHeartbeat } from '@muster/contracts';
import { CANCELLED } from '../attempts.ts';
import { readElsewhere } from '../elsewhere.ts';
import type { Report, ReportAnswer } from '../report.ts';
import { Requests, ServerRefused } from '../requests.ts';
import {
  type Advice,
  type Elsewhere,
  keyOf,
  type Polled,
  type Stop,
  type Work,
  type WorkServer,
} from '../work.ts';
import { readTaskDevices, type TaskDevice } from './wire.ts';

/** The server, as the runner of a PC sees it. */
const NO_ADVICE: Advice = { afterMs: 0, waitSeconds: null };
const MOST_BEATS_AT_ONCE = 10;

type Verdict = Pick<TaskDeviceHeartbeat, 'accepted' | 'status' | 'reason' | 'cancelRequested'>;

export class RunnerClient implements WorkServer<TaskDevice> {
  readonly #requests: Requests;
  readonly #pc: string;
  /** What is said about an attempt at the moment. Its result comes after it, or the server would write it down as late. */
  readonly #talks = new Map<string, Promise<void>>();
  readonly #reported = new Set<string>();

  constructor(server: string, token: () => Promise<string>, pcId: string) {
    this.#requests = new Requests(server, token, 'muster-runner');
    this.#pc = `/api/pcs/${encodeURIComponent(pcId)}`;
  }

  introduce(instance: string): void {
    this.#requests.introduce(instance);
  }

  async poll(max: number, wait: number, signal: AbortSignal): Promise<Polled<TaskDevice>> {
    const response = await this.#requests.ask(
      `${this.#pc}/claim`,
      { max, wait },
      { signal, waitSeconds: wait },
    );
    const elsewhere = readElsewhere(response.headers.get('muster-held-elsewhere'));
    const work = readTaskDevices(await response.json(), serverNow(response));
    return { work, advice: NO_ADVICE, elsewhere, stops: [] };
  }

  async running(signal: AbortSignal): Promise<{ work: TaskDevice[]; elsewhere: Elsewhere | null }> {
    const response = await this.#requests.ask(`${this.#pc}/running`, undefined, { signal });
    const body = (await response.json()) as Partial<HeldDevices>;
    return {
      work: readTaskDevices(body, serverNow(response)),
      elsewhere: body.heldElsewhere?.[0] ?? null,
    };
  }

  async report(report: Report, signal: AbortSignal): Promise<ReportAnswer> {
    const { actionId: id, attempt, status, message = 'It failed.', result, timedOut } = report;
    const key = keyOf({ id, attempt });
    this.#reported.add(key);
    try {
      await this.#talks.get(key);
      return status === 'succeeded'
        ? await this.#say('complete', { id, attempt }, { result }, signal)
        : await this.#say(
            'fail',
            { id, attempt },
            { error: message, ...(timedOut ? { timedOut } : {}) },
            signal,
          );
    } finally {
      this.#reported.delete(key);
    }
  }

  /** It has been begun. Nothing depends on it but the history. */
  acknowledge(of: Work, signal: AbortSignal): Promise<void> {
    return this.#talk(of, () => this.#say('ack', of, {}, signal)).then(() => {});
  }

  async beat(work: readonly TaskDevice[], signal: AbortSignal): Promise<Stop[]> {
    const stops: Stop[] = [];
    const errors: unknown[] = [];
    for (let from = 0; from < work.length; from += MOST_BEATS_AT_ONCE)
      await Promise.all(
        work.slice(from, from + MOST_BEATS_AT_ONCE).map(async (one) => {
          const why = await this.#whyStop(one, signal).catch((error) => void errors.push(error));
          if (why) stops.push({ id: one.id, attempt: one.attempt, why });
        }),
      );
    // What has no answer now is asked about again; whoever is to be stopped is stopped now.
    if (errors.length > 0 && stops.length === 0) throw errors[0];
    return stops;
  }

  async #whyStop(of: TaskDevice, signal: AbortSignal): Promise<string | null> {
    if (this.#reported.has(keyOf(of))) return null;
    try {
      const { accepted, cancelRequested, reason } = await this.#talk(of, () =>
        this.#say('heartbeat', of, {}, signal),
      );
      if (cancelRequested) return CANCELLED;
      return accepted ? null : `GIVEN_UP: the server does not wait for this attempt any more (${reason}).`;
    } catch (error) {
      if (error instanceof ServerRefused && error.status === 404)
        return 'GIVEN_UP: the server does not know this attempt any more.';
      throw error;
    }
  }

  async #talk(of: Work, say: () => Promise<Verdict>): Promise<Verdict> {
    const key = keyOf(of);
    const said = say();
    const talk = Promise.allSettled([this.#talks.get(key), said]).then(() => {
      if (this.#talks.get(key) === talk) this.#talks.delete(key);
    });
    this.#talks.set(key, talk);
    return said;
  }

  async #say(what: string, { id, attempt }: Work, more: object, signal: AbortSignal): Promise<Verdict> {
    const path = `/api/task-devices/${encodeURIComponent(id)}/${what}`;
    const response = await this.#requests.ask(path, { attempt, ...more }, { signal });
    return (await response.json()) as Verdict;
  }
}

const serverNow = (response: Response) => Date.parse(response.headers.get('date') ?? '');
