import { Backoff } from './backoff.ts';
import { howEnded } from './how-ended.ts';
import type { Journal } from './journal.ts';
import type { AgentLog } from './log.ts';
import { duration, type Outage } from './outage.ts';
import type { Report } from './report.ts';
import { retryAfter, ServerRefused } from './requests.ts';
import type { Work, WorkServer } from './work.ts';

/** Delivers results to the server for as long as it takes; the journal forgets each once the server has it. */
export interface DeliveriesOptions {
  readonly server: Pick<WorkServer<Work>, 'report'>;
  readonly journal: Journal;
  readonly log: AgentLog;
  /** How many are under way at once; 1 keeps their order. */
  readonly atOnce: number;
  readonly backoff: { readonly firstMs: number; readonly mostMs: number };
  /** For the log. */
  readonly noun: string;
  /** A smaller version of a report that the server refused; null: it cannot be reduced. */
  readonly reduce: (report: Report, status: number) => Report | null;
  readonly outage: Outage;
  readonly onDelivered: (report: Report) => void;
  /** Ends every request. */
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly report: Report;
  /** Undefined for an attempt of an earlier start, whose end is unknown. */
  readonly endedAt: number | undefined;
  isLate: boolean;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #hurrying = new AbortController();
  readonly #waiting: Waiting[] = [];
  readonly #working = new Set<Promise<void>>();
  #active = 0;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** It is in the journal already. `endedAt`, by `performance.now()`: when the attempt was over. */
  add(report: Report, endedAt?: number): void {
    const waiting: Waiting = { report, endedAt, isLate: false };
    this.#waiting.push(waiting);
    if (this.#options.outage.isOn) this.#sayLate(waiting);
    if (this.#active >= this.#options.atOnce) return;
    this.#active += 1;
    const working = this.#work().finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  /** Resolves when everything is delivered, or when the signal ended it; the rest stays in the journal. */
  async drained(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  /** No more second tries: results that do not get through now are delivered after the next start. */
  giveUp(): void {
    this.#hurrying.abort();
  }

  async #work(): Promise<void> {
    const { firstMs, mostMs } = this.#options.backoff;
    const backoff = new Backoff(firstMs, mostMs);
    for (let one = this.#waiting.shift(); one; one = this.#waiting.shift())
      if (!(await this.#deliver(one, backoff))) break;
    // In the same turn as the last look at the list: a later call starts the next round.
    this.#active -= 1;
  }

  /** True if the server has it, or never will. */
  async #deliver(one: Waiting, backoff: Backoff): Promise<boolean> {
    const { journal, log, onDelivered, outage, server, signal } = this.#options;
    const { report: of } = one;
    const name = this.#nameOf(of);
    const either = AbortSignal.any([signal, this.#hurrying.signal]);
    for (let report: Report | null = of; report; ) {
      if (signal.aborted) return false;
      try {
        const { accepted, reason } = await server.report(report, signal);
        outage.answered();
        log.info(`${name}: ${howEnded(report, accepted ? undefined : reason)}${lateness(one)}`);
        break;
      } catch (error) {
        if (isFinal(error)) {
          outage.answered();
          report = this.#options.reduce(report, error.status);
          // It has forgotten it, or it is not ours any more.
          if (!report) log.warn(`${name}: the server rejected the result: ${error.message}`);
          continue;
        }
        if (either.aborted) return false;
        outage.failed(`the result of ${name.toLowerCase()}`, error);
        this.#sayLate(one);
        await outage.pause(backoff.next(), retryAfter(error), either);
        if (either.aborted) return false;
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

  /** Once per attempt, so that the log has the end of everything that it has the start of. */
  #sayLate(one: Waiting): void {
    if (one.isLate) return;
    one.isLate = true;
    this.#options.log.info(
      `${this.#nameOf(one.report)}: ${howEnded(one.report)} The result is kept until the server has it.`,
    );
  }

  #nameOf({ actionId, attempt }: Report): string {
    return `${this.#options.noun} ${actionId}, attempt ${attempt}`;
  }
}

/** How long this result waited; the outage may be much longer. */
function lateness({ endedAt, isLate }: Waiting): string {
  if (!isLate) return '';
  const after = endedAt === undefined ? '' : `, ${duration(performance.now() - endedAt)} after its end`;
  return ` The server has the result now${after}.`;
}

function isFinal(error: unknown): error is ServerRefused {
  return error instanceof ServerRefused && [400, 404, 409, 413].includes(error.status);
}
