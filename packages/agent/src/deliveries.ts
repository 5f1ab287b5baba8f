import { type Backoff, pause } from './backoff.ts';
import { type Client, ServerRefused } from './client.ts';
import type { Journal } from './journal.ts';
import type { AgentLog } from './log.ts';
import type { Report } from './wire.ts';

/** Brings results to the server, in order, for as long as it takes; the journal forgets each once the server has it. */
export class Deliveries {
  readonly #client: Client;
  readonly #journal: Journal;
  readonly #log: AgentLog;
  readonly #onDelivered: (report: Report) => void;
  readonly #toDeliver: Report[] = [];
  readonly #backoff: Backoff;
  #isWorking = false;
  #working: Promise<void> = Promise.resolve();
  #gaveUp = false;

  constructor(options: {
    client: Client;
    journal: Journal;
    log: AgentLog;
    backoff: Backoff;
    onDelivered: (report: Report) => void;
  }) {
    this.#client = options.client;
    this.#journal = options.journal;
    this.#log = options.log;
    this.#backoff = options.backoff;
    this.#onDelivered = options.onDelivered;
  }

  /** It is in the journal already. */
  add(report: Report, signal: AbortSignal): void {
    this.#toDeliver.push(report);
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#working = this.#work(signal);
  }

  /** Resolves when everything is delivered, or when the signal ended it; what is left stays in the journal. */
  async drained(): Promise<void> {
    await this.#working;
  }

  /** No more second tries: whatever does not get through now is delivered after the next start. */
  giveUp(): void {
    this.#gaveUp = true;
  }

  async #work(signal: AbortSignal): Promise<void> {
    do await this.#deliverAll(signal);
    while (this.#toDeliver.length > 0 && !this.#gaveUp && !signal.aborted);
    // In the same breath as the last look at the list: whoever comes now starts the next round.
    this.#isWorking = false;
  }

  async #deliverAll(signal: AbortSignal): Promise<void> {
    for (let report = this.#toDeliver[0]; report && !signal.aborted; report = this.#toDeliver[0]) {
      try {
        const answer = await this.#client.report(report, signal);
        this.#log.info(
          `Action ${report.actionId}, attempt ${report.attempt}: ${report.status}` +
            (answer.accepted ? '.' : `, but the server had given it up (${answer.reason}).`),
        );
      } catch (error) {
        if (!isFinal(error)) {
          if (this.#gaveUp || signal.aborted) return;
          this.#log.warn(
            `The result of action ${report.actionId} could not be delivered yet: ${String(error)}`,
          );
          await pause(Math.max(this.#backoff.next(), retryAfter(error)), signal);
          if (this.#gaveUp) return;
          continue;
        }
        if (isTooLarge(error) && report.output) {
          this.#toDeliver[0] = { ...report, output: report.output.slice(-1_000) };
          continue;
        }
        // The server will never take it: it has forgotten the action, or it is not this host's any more.
        this.#log.warn(`The result of action ${report.actionId} is not wanted: ${String(error)}`);
      }
      this.#backoff.reset();
      this.#toDeliver.shift();
      await this.#journal.delivered({ id: report.actionId, attempt: report.attempt }).catch((error) => {
        // It is delivered again after the next start, which changes nothing.
        this.#log.warn(`The journal could not be written: ${String(error)}`);
      });
      this.#onDelivered(report);
    }
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof ServerRefused && [400, 404, 409, 413].includes(error.status);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ServerRefused && error.status === 413;
}

export function retryAfter(error: unknown): number {
  return error instanceof ServerRefused ? error.retryAfterMs : 0;
}
