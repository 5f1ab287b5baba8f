import type { ActionView } from '@muster/engine';
import type { Delivery } from './deliveries.ts';
import { bodyOf, type Follower, letterIdOf, messageIdOf, type StoredMessage, storedBody } from './message.ts';

/** What those are told who want to know what became of a message, as QStash words it. */
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
    sourceHeader: many(message.headers),
    sourceBody: bodyOf(message).toString('base64'),
    createdAt: createdAt.getTime(),
  };
  const { delayMs: _later, ...sending } = to;
  return {
    ...sending,
    headers: { 'content-type': 'application/json', ...to.headers },
    ...storedBody(Buffer.from(JSON.stringify(said))),
  };
}

/** Of a message that is a dead letter now; null: nobody wants to know. */
export function failureOf(
  view: ActionView,
  delivery: Delivery | undefined,
): [Follower, StoredMessage] | null {
  const message = view.payload as StoredMessage;
  if (!message.failureCallback) return null;
  const { attempt, createdAt, id: actionId } = view;
  return [
    message.failureCallback,
    followUp(message.failureCallback, { actionId, attempt, createdAt, delivery, isDead: true, message }),
  ];
}
