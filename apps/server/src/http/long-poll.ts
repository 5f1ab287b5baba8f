import { EngineError } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../tokens/caller.ts';
import type { SignIns } from '../tokens/sign-ins.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { bearerOf, refusalOf } from './auth.ts';

/**
 * Requests that wait. Ten thousand may be parked, so each costs one controller and one listener on its socket, and a
 * request that does not wait costs neither.
 *
 *   parked ──something to do──► answered
 *      ├──time over──────────► answered, empty
 *      ├──socket gone────────► aborted; what was claimed meanwhile is released
 *      ├──token revoked,
 *      │  signed out─────────► aborted, the same; refused as a new request would be
 *      └──server stops───────► aborted; answered, empty
 */
export interface Wait {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** Longer than any stream lasts. */
export const FOREVER_SECONDS = 7 * 86_400;

const REVOKED = Symbol('revoked');
const RETRY_MS = 1_000;

export class LongPolls {
  readonly #tokens: Tokens;
  readonly #signIns: Pick<SignIns, 'find' | 'watch'>;
  /** The waiting requests with a cookie, and its secret, by sign-in. */
  readonly #bySignIn = new Map<string, { readonly secret: string; readonly parked: Set<AbortController> }>();
  readonly #parked = new Set<AbortController>();
  readonly #byToken = new Map<string, Set<AbortController>>();
  #retry: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(tokens: Tokens, signIns: Pick<SignIns, 'find' | 'watch'>) {
    this.#tokens = tokens;
    this.#signIns = signIns;
    tokens.watch({
      revoked: (tenantId, tokenId) => this.#end(wordOf({ tenantId, tokenId })),
      missed: () => void this.#checkAll(),
    });
    signIns.watch({
      ended: (tenantId, signInId) => this.#abort(this.#bySignIn.get(`${tenantId}:${signInId}`)?.parked),
      missed: () => void this.#checkSignIns(),
    });
  }

  get count(): number {
    return this.#parked.size;
  }

  /**
   * Runs the work, waiting at most this many seconds. `ifEnded` is the answer if the wait was aborted and, with
   * `mustAnswer`, if there is no place to wait: what the request has already done must not look failed.
   */
  async run<T>(
    request: FastifyRequest,
    waitSeconds: number,
    work: (wait: Wait) => Promise<T>,
    ifEnded: T,
    mustAnswer = false,
  ): Promise<T> {
    if (waitSeconds <= 0 || this.#stopping) return work({});
    if (request.tokenVersion !== this.#tokens.version) await this.#checkAgain(request);
    const { socket } = request.raw;
    const controller = new AbortController();
    const gone = () => controller.abort();
    if (socket.destroyed) gone();
    else socket.once('close', gone);
    this.#park(request, controller);
    try {
      // signed out before it was parked, so no notification will come
      if (request.session !== null && !(await this.#signIns.find(request.session)))
        throw await refusalOf(request, this.#tokens);
      const result = await work({ waitMs: waitSeconds * 1_000, signal: controller.signal });
      if (controller.signal.reason === REVOKED) throw await refusalOf(request, this.#tokens);
      // What was claimed after the end of the wait has been released.
      return controller.signal.aborted ? ifEnded : result;
    } catch (error) {
      if (controller.signal.reason === REVOKED) throw await refusalOf(request, this.#tokens);
      if (mustAnswer && isFull(error)) return ifEnded;
      throw error;
    } finally {
      this.#leave(request, controller);
      socket.removeListener('close', gone);
    }
  }

  /** Answers all parked requests, empty, and parks no more. */
  stop(): void {
    this.#stopping = true;
    clearTimeout(this.#retry);
    for (const controller of this.#parked) controller.abort();
  }

  #park(request: FastifyRequest, controller: AbortController): void {
    this.#parked.add(controller);
    const { caller, session, signInId } = request;
    if (!caller) return;
    const word = wordOf(caller);
    const same = this.#byToken.get(word);
    if (same) same.add(controller);
    else this.#byToken.set(word, new Set([controller]));
    if (session === null) return;
    const place = `${caller.tenantId}:${signInId}`;
    const known = this.#bySignIn.get(place) ?? { secret: session, parked: new Set() };
    known.parked.add(controller);
    this.#bySignIn.set(place, known);
  }

  #leave({ caller, signInId }: FastifyRequest, controller: AbortController): void {
    this.#parked.delete(controller);
    if (!caller) return;
    const word = wordOf(caller);
    const same = this.#byToken.get(word);
    same?.delete(controller);
    if (same?.size === 0) this.#byToken.delete(word);
    const place = `${caller.tenantId}:${signInId}`;
    const known = this.#bySignIn.get(place);
    known?.parked.delete(controller);
    if (known?.parked.size === 0) this.#bySignIn.delete(place);
  }

  #end(word: string): void {
    this.#abort(this.#byToken.get(word));
  }

  #abort(parked: ReadonlySet<AbortController> | undefined): void {
    if (!parked) return;
    // In its own turn, not between the end of a claim, which releases only if it sees the abort, and our own check of
    // it.
    setImmediate(() => {
      for (const controller of parked) controller.abort(REVOKED);
    });
  }

  /**
   * A notification of a sign-out may be lost. Errors are left to the next check, as streams check for themselves too.
   */
  async #checkSignIns(): Promise<void> {
    for (const { parked, secret } of [...this.#bySignIn.values()])
      if ((await this.#signIns.find(secret).catch(() => undefined)) === null) this.#abort(parked);
  }

  /** A token was revoked after this one was looked up, perhaps this one. From here on, revocations are noticed. */
  async #checkAgain(request: FastifyRequest): Promise<void> {
    while (request.caller && request.tokenVersion !== this.#tokens.version) {
      request.tokenVersion = this.#tokens.version;
      const isValid =
        request.session === null
          ? await this.#tokens.authenticate(bearerOf(request) ?? '')
          : await this.#signIns.find(request.session);
      if (!isValid) throw await refusalOf(request, this.#tokens);
    }
  }

  /** A notification of a revocation may be lost: looks up all tokens that wait. */
  async #checkAll(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      const words = [...this.#byToken.keys()];
      for (const word of await this.#tokens.invalidOf(words.map(refOf))) this.#end(wordOf(word));
    } catch {
      // the database is away again
      if (!this.#stopping) this.#retry = setTimeout(() => void this.#checkAll(), RETRY_MS).unref();
    }
  }
}

const wordOf = ({ tenantId, tokenId }: Pick<Caller, 'tenantId' | 'tokenId'>) => `${tenantId}:${tokenId}`;

function refOf(word: string): Pick<Caller, 'tenantId' | 'tokenId'> {
  const [tenantId, tokenId = ''] = word.split(':');
  return { tenantId: Number(tenantId), tokenId };
}

/** This node has no more places to wait, and there was nothing to do. */
export function isFull(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'MUSTER_TOO_MANY_WAITING';
}

/** Calls back if the answer could not be written out: then the client never received it. */
export function ifNotSent(request: FastifyRequest, reply: FastifyReply, giveBack: () => void): void {
  if (request.raw.socket.destroyed) {
    giveBack();
    return;
  }
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) giveBack();
  });
}
