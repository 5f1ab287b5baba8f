import { createHash } from 'node:crypto';

/**
 * Which trace an action belongs to is derived from its number, not stored: every node finds the same ids and decides
 * alike whether it is traced, whoever queued it. After a restore of the database actions have other traces.
 */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

export class ActionTraces {
  readonly #seed: string;
  readonly #share: number;

  /** `share`: how many of all actions are traced, from 0 to 1. */
  constructor(seed: string, share: number) {
    this.#seed = seed;
    this.#share = share;
  }

  /** The trace of the action and its first span; null: it is not traced. */
  of(actionId: string): TraceContext | null {
    const hash = createHash('sha256').update(`${this.#seed}/${actionId}`).digest('hex');
    const traceId = hash.slice(0, 32);
    return shareOf(traceId) < this.#share ? { traceId, spanId: hash.slice(32, 48) } : null;
  }
}

/** From the last 56 bits, which count as random. */
const shareOf = (traceId: string) => Number.parseInt(traceId.slice(18), 16) / 2 ** 56;

/** The header `traceparent` of the W3C. */
export const writeTraceparent = ({ traceId, spanId }: TraceContext) => `00-${traceId}-${spanId}-01`;

/** Null: there is none, or its trace is not recorded. */
export function readTraceparent(header: unknown): TraceContext | null {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(header ?? ''));
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || /^0*$/.test(traceId) || /^0*$/.test(spanId))
    return null;
  return Number.parseInt(flags as string, 16) & 1 ? { traceId, spanId } : null;
}

/** The header `muster-traceparents` of an answer: `7=00-…-01, 9=00-…-01`, one for each action. */
export const writeTraceparents = (of: readonly (readonly [id: string, context: TraceContext])[]) =>
  of.map(([id, context]) => `${id}=${writeTraceparent(context)}`).join(', ');

export function readTraceparents(header: string | null): Map<string, TraceContext> {
  const found = new Map<string, TraceContext>();
  for (const part of (header ?? '').split(', ')) {
    const [id = '', traceparent] = part.split('=');
    const context = readTraceparent(traceparent);
    if (id !== '' && context) found.set(id, context);
  }
  return found;
}
