import type { HeldDevices, PcHeartbeat, TaskDeviceReported } from '@muster/contracts';
import { CANCELLED, GIVEN_UP } from '../attempts.ts';
import { readElsewhere } from '../elsewhere.ts';
import type { Report, ReportAnswer } from '../report.ts';
import { Requests } from '../requests.ts';
import type { AttemptTracing } from '../tracing.ts';
import {
  type Advice,
  type Alive,
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

type Verdict = Pick<TaskDeviceReported, 'accepted' | 'status' | 'reason'>;

export class RunnerClient implements WorkServer<TaskDevice> {
  readonly #requests: Requests;
  readonly #pc: string;
  /** What is being sent about an attempt. Its result waits for it, or the server would record it as late. */
  readonly #talks = new Map<string, Promise<void>>();

  constructor(server: string, token: () => Promise<string>, pcId: string, tracing?: AttemptTracing) {
    this.#requests = new Requests(server, token, 'muster-runner', tracing);
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
    await this.#talks.get(keyOf({ id, attempt }));
    return status === 'succeeded'
      ? this.#say('complete', { id, attempt }, { result }, signal)
      : this.#say('fail', { id, attempt }, { error: message, ...(timedOut ? { timedOut } : {}) }, signal);
  }

  /** It has started. Only the history depends on it. */
  acknowledge(of: Work, signal: AbortSignal): Promise<void> {
    return this.#talk(of, () => this.#say('ack', of, {}, signal)).then(() => {});
  }

  async beat(work: readonly Alive[], wait: number, signal: AbortSignal): Promise<Stop[]> {
    const response = await this.#requests.ask(
      `${this.#pc}/heartbeat`,
      { taskDevices: work, wait },
      { signal, waitSeconds: wait },
    );
    const { taskDevices } = (await response.json()) as PcHeartbeat;
    return taskDevices.flatMap(({ id, attempt, cancelRequested, running }) => {
      if (running && !cancelRequested) return [];
      const why = running ? CANCELLED : GIVEN_UP;
      return [{ id, attempt, why }];
    });
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
    const response = await this.#requests.ask(path, { attempt, ...more }, { about: id, signal });
    return (await response.json()) as Verdict;
  }
}

const serverNow = (response: Response) => Date.parse(response.headers.get('date') ?? '');
