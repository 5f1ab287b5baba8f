import { z } from 'zod';

/** The channel and the space of the lanes of all callbacks. */
export const CALLBACKS = 'callbacks';
/** Published messages, and calls of this server to itself, which publishers can neither see nor cancel. */
export const MESSAGE = 'callback';
export const OWN_CALL = 'own-call';

export const DEFAULT_RETRIES = 3;
export const DEFAULT_TIMEOUT_MS = 30_000;
/** Doubled with each try. */
export const BACKOFF_MS = 10_000;
/** For calls to this server itself: the first of these pauses ends before the lease of the order does. */
export const OWN_BACKOFF_MS = 500;
export const LONGEST_BACKOFF_MS = 86_400_000;
/** A destination without an answer by then is slow. */
export const SLOW_MS = 1_000;
/** Time a server needs beyond the destination's timeout before the try counts as lost. */
const LEASE_MARGIN_MS = 30_000;

export const leaseOf = ({ timeoutMs }: Pick<StoredMessage, 'timeoutMs'>) => timeoutMs + LEASE_MARGIN_MS;

/** How a request is made, whatever its body. */
export interface Sending {
  /** An address, or the path of one of our own routes. */
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly retries: number;
  readonly timeoutMs: number;
}

/** The destination of a follow-up message about the outcome. */
export interface Follower extends Sending {
  readonly delayMs: number;
}

/** The payload of an action of this channel. */
export interface StoredMessage extends Sending {
  /** To this server itself: `url` is a path of OWN_PATHS. */
  readonly isOwn?: true;
  /** At most one of the two. */
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly callback?: Follower;
  readonly failureCallback?: Follower;
}

const sending = z.object({
  url: z.string(),
  method: z.string(),
  headers: z.record(z.string(), z.string()),
  retries: z.int().min(0),
  timeoutMs: z.int().min(1),
});
const follower = sending.extend({
  url: z.string().refine((url) => URL.canParse(url)),
  delayMs: z.int().min(0),
});
const stored = sending.extend({
  isOwn: z.literal(true).optional(),
  body: z.string().optional(),
  bodyBase64: z.string().optional(),
  callback: follower.optional(),
  failureCallback: follower.optional(),
});

/** Null: written by something else than this channel. */
export function readMessage(payload: unknown): StoredMessage | null {
  return (stored.safeParse(payload).data as StoredMessage | undefined) ?? null;
}

/** The only paths of this server that a callback may call. */
export const OWN_PATHS: readonly string[] = ['/api/orders/complete'];

export const messageIdOf = (actionId: string) => `msg_${actionId}`;
export const letterIdOf = (actionId: string) => `dlq_${actionId}`;

/** The id of a message or a dead letter; null: not one of ours. */
export function actionIdOf(id: string): string | null {
  return /^(?:msg|dlq)_([1-9]\d{0,17})$/.exec(id)?.[1] ?? null;
}

/** JSON holds only text, and PostgreSQL no NUL: other bodies are stored as base64. */
export function storedBody(bytes: Buffer): Pick<StoredMessage, 'body' | 'bodyBase64'> {
  if (bytes.length === 0) return {};
  const text = bytes.toString('utf8');
  const isText = !text.includes('\u0000') && Buffer.from(text, 'utf8').equals(bytes);
  return isText ? { body: text } : { bodyBase64: bytes.toString('base64') };
}

export function bodyOf({ body, bodyBase64 }: Pick<StoredMessage, 'body' | 'bodyBase64'>): Buffer {
  return bodyBase64 === undefined ? Buffer.from(body ?? '') : Buffer.from(bodyBase64, 'base64');
}
