import type { ActionView } from '@muster/engine';
import { OUTGOING_LIMITS } from '../outgoing/outgoing.ts';
import type { Delivery } from './deliveries.ts';
import {
  bodyOf,
  type Follower,
  letterIdOf,
  messageIdOf,
  readMessage,
  type StoredMessage,
  storedBody,
} from './message.ts';

/** The outcome of a message in the words of QStash, for its callback or failure callback. */
interface Told {
  readonly actionId: string;
  readonly attempt: number;
  readonly createdAt: Date;
  readonly message: StoredMessage;
  readonly delivery: Delivery | undefined;
  readonly isDead: boolean;
}

const many = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

export function followUp(to: Follower, told: Told): StoredMessage {
  const { actionId, attempt, createdAt, delivery, message } = told;
  const said = {
    status: delivery?.status ?? 0,
    header: many(delivery?.headers ?? {}),
    body: (delivery?.body ?? Buffer.alloc(0)).toString('base64'),
    retried: Math.max(attempt - 1, 0),
    maxRetries: message.retries,
    sourceMessageId: messageIdOf(actionId),
    ...(told.isDead ? { dlqId: letterIdOf(actionId) } : {}),
    url: message.url,
    method: message.method,
    createdAt: createdAt.getTime(),
  };
  const { delayMs: _later, ...sending } = to;
  return {
    ...sending,
    headers: { 'content-type': 'application/json', ...to.headers },
    ...storedBody(Buffer.from(withSource(said, message))),
  };
}

/**
 * The sent body is included as far as the follow-up can be sent: in base64 a body of more than about 750 KiB would make
 * the request too large, so the follow-up would never arrive.
 */
function withSource(said: object, message: StoredMessage): string {
  const sized = (headers: StoredMessage['headers'], body: Buffer, isCut: boolean) =>
    JSON.stringify({
      ...{ ...said, sourceHeader: many(headers), sourceBody: body.toString('base64') },
      ...(isCut ? { sourceCut: true } : {}),
    });
  const roomOf = (headers: StoredMessage['headers']) =>
    OUTGOING_LIMITS.bodyBytes - Buffer.byteLength(sized(headers, Buffer.alloc(0), true));
  const headers = roomOf(message.headers) < 0 ? {} : message.headers;
  const most = Math.max(0, Math.floor(roomOf(headers) / 4) * 3);
  const body = bodyOf(message);
  return sized(headers, body.subarray(0, most), headers !== message.headers || body.length > most);
}

/** For a message that is a dead letter now; null: it has no failure callback. */
export function failureOf(
  view: ActionView,
  delivery: Delivery | undefined,
): [Follower, StoredMessage] | null {
  const message = readMessage(view.payload);
  if (!message?.failureCallback) return null;
  const { attempt, createdAt, id: actionId } = view;
  return [
    message.failureCallback,
    followUp(message.failureCallback, { actionId, attempt, createdAt, delivery, isDead: true, message }),
  ];
}
