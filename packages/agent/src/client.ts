import { type AgentAction, type Beat, type Report, type ReportAnswer, readActions } from './wire.ts';

/** The server, as an agent sees it: four requests. A request without an answer throws, and so does a refusal. */
export class ServerRefused extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfterMs: number;

  constructor(status: number, code: string | null, message: string, retryAfterMs: number) {
    super(`${message} (${status})`);
    this.name = 'ServerRefused';
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Advice {
  readonly afterMs: number;
  readonly waitSeconds: number | null;
}

const ANSWER_MS = 30_000;
/** How much later than asked an answer may come before the connection counts as dead. */
const GRACE_MS = 15_000;

export class Client {
  readonly #server: string;
  readonly #token: () => Promise<string>;

  constructor(server: string, token: () => Promise<string>) {
    this.#server = server.replace(/\/+$/, '');
    this.#token = token;
  }

  async poll(
    max: number,
    waitSeconds: number,
    signal: AbortSignal,
  ): Promise<{ actions: AgentAction[]; advice: Advice }> {
    const response = await this.#ask(`/api/control/queue?max=${max}&wait=${waitSeconds}`, undefined, {
      signal,
      ms: waitSeconds * 1_000 + GRACE_MS,
    });
    const actions = response.status === 204 ? [] : readActions(await response.json());
    return { actions, advice: readAdvice(response.headers.get('muster-next-poll')) };
  }

  async running(signal: AbortSignal): Promise<AgentAction[]> {
    const response = await this.#ask('/api/control/running', undefined, { signal });
    return readActions(await response.json());
  }

  async report(report: Report, signal: AbortSignal): Promise<ReportAnswer> {
    const response = await this.#ask('/api/control/report', report, { signal });
    return (await response.json()) as ReportAnswer;
  }

  async heartbeat(actions: readonly { id: string; attempt: number }[], signal: AbortSignal): Promise<Beat[]> {
    const response = await this.#ask('/api/control/heartbeat', { actions }, { signal });
    return ((await response.json()) as { actions: Beat[] }).actions;
  }

  async #ask(
    path: string,
    body: object | undefined,
    { signal, ms = ANSWER_MS }: { signal: AbortSignal; ms?: number },
  ): Promise<Response> {
    const response = await fetch(this.#server + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${await this.#token()}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      redirect: 'error', // a token goes to the server it was made for
      signal: AbortSignal.any([signal, AbortSignal.timeout(ms)]),
    });
    if (response.ok) return response;
    throw await refusal(response);
  }
}

export async function refusal(response: Response): Promise<ServerRefused> {
  const text = await response.text();
  const retryAfter = Number(response.headers.get('retry-after') ?? 0);
  const { error, code } = sentence(text);
  return new ServerRefused(
    response.status,
    code ?? null,
    error ?? 'The server refused',
    Number.isFinite(retryAfter) ? Math.min(retryAfter, 3_600) * 1_000 : 0,
  );
}

function sentence(text: string): { error?: string; code?: string } {
  try {
    const body = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

/** `after=0, wait=25`; whatever else it may be is no advice. */
function readAdvice(header: string | null): Advice {
  const [, after, wait] = /^after=(\d{1,4}), wait=(\d{1,2})$/.exec(header ?? '') ?? [];
  return after === undefined || wait === undefined
    ? { afterMs: 0, waitSeconds: null }
    : { afterMs: Number(after) * 1_000, waitSeconds: Number(wait) };
}
