import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Call, CallLog, NewCall } from './call-log.ts';
import type { Random } from './random.ts';

/** An outside client: sends a call to a node through its proxy and records the answer, if any. */
const PATIENCE_MS = 1_500;
const SOCKETS = 4;
/** After a call without an answer, doubled each time. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 400;

export interface Door {
  readonly port: number;
}

export type ToCall = Omit<NewCall, 'client' | 'node' | 'key'> & { key?: string; node?: number };

export class Client {
  readonly name: string;
  readonly random: Random;
  readonly #doors: readonly Door[];
  readonly #log: CallLog;
  readonly #token: string;
  readonly #patienceMs: number;
  #inVain = 0;
  readonly #agent: Agent;

  constructor(options: {
    name: string;
    random: Random;
    doors: readonly Door[];
    log: CallLog;
    token: string;
    sockets?: number;
    patienceMs?: number;
  }) {
    this.name = options.name;
    this.random = options.random;
    this.#doors = options.doors;
    this.#log = options.log;
    this.#token = options.token;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.sockets ?? SOCKETS });
  }

  /** To any node, unless one is named. */
  async call(
    path: string,
    { node = this.random.int(0, this.#doors.length - 1), ...call }: ToCall,
  ): Promise<Call> {
    const begun = this.#log.begin({ key: null, ...call, client: this.name, node });
    try {
      const { status, text } = await this.#send(node, 'POST', path, call.body, call.key);
      // a server error, MUSTER_NO_ANSWER and half an answer are unknown outcomes
      if (status >= 500) throw new Error(`${status} ${text}`);
      const answer = JSON.parse(text);
      this.#inVain = 0;
      return this.#log.end(begun, { status, answer });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      this.#log.end(begun, { error: code ?? message });
      await pause(Math.min(SHORTEST_PAUSE_MS * 2 ** this.#inVain, LONGEST_PAUSE_MS));
      this.#inVain += 1;
      return begun;
    }
  }

  /** A call that is not checked; null: no answer, or one without an outcome. */
  async ask(
    method: string,
    path: string,
    body?: Readonly<Record<string, unknown>>,
  ): Promise<{ status: number; answer: Record<string, unknown> } | null> {
    const node = this.random.int(0, this.#doors.length - 1);
    const said = await this.#send(node, method, path, body).catch(() => null);
    if (said === null || said.status >= 500) return null;
    return { status: said.status, answer: said.text === '' ? {} : JSON.parse(said.text) };
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(
    node: number,
    method: string,
    path: string,
    body: Readonly<Record<string, unknown>> | undefined,
    key?: string,
  ): Promise<{ status: number; text: string }> {
    const { port } = this.#doors[node] as Door;
    const waits = Number((body?.next as { wait?: number } | undefined)?.wait ?? body?.wait ?? 0) * 1_000;
    return new Promise((resolve, reject) => {
      const sent = request({
        agent: this.#agent,
        host: '127.0.0.1',
        port,
        path,
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        signal: AbortSignal.timeout(this.#patienceMs + waits),
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('The answer broke off.')));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
        );
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
