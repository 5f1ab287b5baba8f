import type { Heartbeat, HeldActions } from '@muster/contracts';
import { CANCELLED } from './attempts.ts';
import { readElsewhere } from './elsewhere.ts';
import type { Report, ReportAnswer } from './report.ts';
import { Requests } from './requests.ts';
import type { AttemptTracing } from './tracing.ts';
import { type AgentAction, readActions } from './wire.ts';
import type { Advice, Alive, Elsewhere, Polled, Stop, WorkServer } from './work.ts';

/** The server, as the agent of a host sees it: four requests. */
const MOST_PER_HEARTBEAT = 500;

export class Client implements WorkServer<AgentAction> {
  readonly #requests: Requests;

  constructor(server: string, token: () => Promise<string>, tracing?: AttemptTracing) {
    this.#requests = new Requests(server, token, 'muster-agent', tracing);
  }

  introduce(instance: string): void {
    this.#requests.introduce(instance);
  }

  async poll(max: number, waitSeconds: number, signal: AbortSignal): Promise<Polled<AgentAction>> {
    const path = `/api/control/queue?max=${max}&wait=${waitSeconds}`;
    const response = await this.#requests.ask(path, undefined, { signal, waitSeconds });
    const work = response.status === 204 ? [] : readActions(await response.json());
    const { headers } = response;
    return {
      work,
      advice: readAdvice(headers.get('muster-next-poll')),
      elsewhere: readElsewhere(headers.get('muster-held-elsewhere')),
      stops: readStops(headers.get('muster-cancelled')),
    };
  }

  async running(signal: AbortSignal): Promise<{ work: AgentAction[]; elsewhere: Elsewhere | null }> {
    const response = await this.#requests.ask('/api/control/running', undefined, { signal });
    const body = (await response.json()) as Partial<HeldActions>;
    return { work: readActions(body), elsewhere: body.heldElsewhere?.[0] ?? null };
  }

  async report(report: Report, signal: AbortSignal): Promise<ReportAnswer> {
    const response = await this.#requests.ask('/api/control/report', report, {
      about: report.actionId,
      signal,
    });
    return (await response.json()) as ReportAnswer;
  }

  async beat(held: readonly Alive[], waitSeconds: number, signal: AbortSignal): Promise<Stop[]> {
    const stops: Stop[] = [];
    for (let from = 0; from < held.length; from += MOST_PER_HEARTBEAT) {
      const actions = held.slice(from, from + MOST_PER_HEARTBEAT);
      // only the last one waits: the others have been extended by then
      const isLast = from + MOST_PER_HEARTBEAT >= held.length;
      const wait = isLast && stops.length === 0 ? waitSeconds : 0;
      const response = await this.#requests.ask(
        '/api/control/heartbeat',
        { actions, wait },
        { signal, waitSeconds: wait },
      );
      const { actions: beats } = (await response.json()) as Heartbeat;
      for (const { id, attempt, status, cancelRequested } of beats)
        if (cancelRequested || status === 'cancelled') stops.push({ id, attempt, why: CANCELLED });
    }
    return stops;
  }
}

/** `after=0, wait=25`; any other content is ignored. */
function readAdvice(header: string | null): Advice {
  const [, after, wait] = /^after=(\d{1,4}), wait=(\d{1,2})$/.exec(header ?? '') ?? [];
  return after === undefined || wait === undefined
    ? { afterMs: 0, waitSeconds: null }
    : { afterMs: Number(after) * 1_000, waitSeconds: Number(wait) };
}

/** `7:1, 9:2`: actions and attempts. */
function readStops(header: string | null): Stop[] {
  return [...(header ?? '').matchAll(/(\d+):(\d+)/g)].map(([, id = '', attempt]) => ({
    id,
    attempt: Number(attempt),
    why: CANCELLED,
  }));
}
