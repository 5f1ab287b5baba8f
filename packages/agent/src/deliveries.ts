import { Backoff, pause } from './backoff.ts';
import type { Journal } from './journal.ts';
import type { AgentLog } from './log.ts';
import type { Report } from './report.ts';
import { retryAfter, ServerRefused } from './requests.ts';
import { whyFailed } from './why-failed.ts';
import type { Work, WorkServer } from './work.ts';

/** Brings results to the server for as long as it takes; the journal forgets each once the server has it. */
export interface DeliveriesOptions {
  readonly server: Pick<WorkServer<Work>, 'report'>;
  readonly journal: Journal;
  readonly log: AgentLog;
  /** How many are under way at once; 1 keeps their order. */
  readonly atOnce: number;
  readonly backoff: { readonly firstMs: number; readonly mostMs: number };
  /** For the log. */
  readonly noun: string;
  /** Of a report that the server will not take, less, which it may take; null: there is no less. */
  readonly reduce: (report: Report, status: number) => Report | null;
  /** It is tried again. */
  readonly onFailure: (what: string, error: unknown) => void;
  readonly onDelivered: (report: Report) => void;
  /** No request goes on after it. */
  readonly signal: AbortSignal;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #waiting: Report[] = [];
  readonly #working = new Set<Promise<void>>();
  #active = 0;
  #gaveUp = false;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** It is in the journal already. */
  add(report: Report): void {
    this.#waiting.push(report);
    if (this.#active >= this.#options.atOnce) return;
    this.#active += 1;
    const working = this.#work().finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  /** Resolves when everything is delivered, or when the signal ended it; what is left stays in the journal. */
  async drained(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  /** No more second tries: whatever does not get through now is delivered after the next start. */
  giveUp(): void {
    this.#gaveUp = true;
  }

  async #work(): Promise<void> {
    const { firstMs, mostMs } = this.#options.backoff;
    const backoff = new Backoff(firstMs, mostMs);
    for (let report = this.#waiting.shift(); report; report = this.#waiting.shift())
      if (!(await this.#deliver(report, backoff))) break;
    // In the same breath as the last look at the list: whoever comes now starts the next round.
    this.#active -= 1;
  }

  /** Whether the server has it, or never will. */
  async #deliver(of: Report, backoff: Backoff): Promise<boolean> {
    const { journal, log, noun, onDelivered, server, signal } = this.#options;
    const name = `${noun} ${of.actionId}, attempt ${of.attempt}`;
    for (let report: Report | null = of; report; ) {
      if (signal.aborted) return false;
      try {
        const answer = await server.report(report, signal);
        const givenUp = answer.accepted ? '' : `, but the server had given it up (${answer.reason})`;
        log.info(`${name}: ${report.status}${givenUp}${whyFailed(report)}`);
        break;
      } catch (error) {
        if (isFinal(error)) {
          report = this.#options.reduce(report, error.status);
          // It has forgotten it, or it is not ours any more.
          if (!report) log.warn(`${name}: the server does not want the result: ${error.message}`);
          continue;
        }
        if (this.#gaveUp || signal.aborted) return false;
        this.#options.onFailure(`${name}: the result could not be delivered yet`, error);
        await pause(Math.max(backoff.next(), retryAfter(error)), signal);
        if (this.#gaveUp) return false;
      }
    }
    backoff.reset();
    await journal.delivered({ id: of.actionId, attempt: of.attempt }).catch((error) => {
      // It is delivered again after the next start, which changes nothing.
      log.warn(`The journal could not be written: ${String(error)}`);
    });
    onDelivered(of);
    return true;
  }
}

function isFinal(error: unknown): error is ServerRefused {
  return error instanceof ServerRefused && [400, 404, 409, 413].includes(error.status);
}
