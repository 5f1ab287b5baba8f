import type { CallbackDeadLetter, CallbackEvent, CallbackMessage, CallbackState } from '@muster/contracts';
import type { ActionView, EventType } from '@muster/engine';
import type { Delivery } from '../../callbacks/deliveries.ts';
import {
  letterIdOf,
  messageIdOf,
  readMessage,
  type StoredMessage,
  storedBody,
} from '../../callbacks/message.ts';

/** Messages, dead letters and events in the shapes of QStash. */
const STATES: { readonly [Type in EventType]?: CallbackState } = {
  CREATED: 'CREATED',
  SENT: 'ACTIVE',
  SUCCEEDED: 'DELIVERED',
  FAILED: 'ERROR',
  TIMEOUT: 'ERROR',
  RETRY_SCHEDULED: 'RETRY',
  RELEASED: 'RETRY',
  REDRIVEN: 'RETRY',
  FAILED_FINAL: 'FAILED',
  EXPIRED: 'FAILED',
  CANCEL_REQUESTED: 'CANCEL_REQUESTED',
  CANCELLED: 'CANCELED',
};
const WITH_ANSWER: readonly CallbackState[] = ['DELIVERED', 'ERROR'];

export interface EventRow {
  readonly type: EventType;
  readonly at: Date;
  readonly reason: string | null;
  readonly delivery: Delivery | null;
}

const many = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

function labelsOf({ tags }: ActionView) {
  return tags.length === 0 ? {} : { label: tags[0] as string, labels: [...tags] };
}

/** A message that cannot be read is shown without a destination. */
const shownOf = ({ maxAttempts, payload }: ActionView): Omit<StoredMessage, 'timeoutMs'> =>
  readMessage(payload) ?? { url: '', method: '', headers: {}, retries: maxAttempts - 1 };

export function messageOf(view: ActionView): CallbackMessage {
  const message = shownOf(view);
  return {
    messageId: messageIdOf(view.id),
    url: message.url,
    method: message.method,
    header: many(message.headers),
    ...(message.body === undefined ? {} : { body: message.body }),
    ...(message.bodyBase64 === undefined ? {} : { bodyBase64: message.bodyBase64 }),
    maxRetries: message.retries,
    ...(view.notBefore ? { notBefore: view.notBefore.getTime() } : {}),
    createdAt: view.createdAt.getTime(),
    ...(message.callback ? { callback: message.callback.url } : {}),
    ...(message.failureCallback ? { failureCallback: message.failureCallback.url } : {}),
    ...labelsOf(view),
  };
}

function answerOf(delivery: Delivery | null | undefined) {
  if (!delivery || delivery.status === null) return {};
  const { body, bodyBase64 } = storedBody(delivery.body);
  return {
    responseStatus: delivery.status,
    responseHeader: many(delivery.headers),
    ...(body === undefined ? {} : { responseBody: body }),
    ...(bodyBase64 === undefined ? {} : { responseBodyBase64: bodyBase64 }),
  };
}

export function letterOf(view: ActionView, delivery: Delivery | undefined): CallbackDeadLetter {
  return { ...messageOf(view), dlqId: letterIdOf(view.id), ...answerOf(delivery) };
}

/** Null: QStash has no word for the event. */
export function eventOf(view: ActionView, { at, delivery, reason, type }: EventRow): CallbackEvent | null {
  const state = STATES[type];
  if (!state) return null;
  const { method, retries, url } = shownOf(view);
  const hasAnswer = WITH_ANSWER.includes(state);
  const error = hasAnswer ? (delivery?.error ?? (state === 'ERROR' ? reason : null)) : null;
  return {
    ...{ time: at.getTime(), state, messageId: messageIdOf(view.id), url, method, maxRetries: retries },
    ...(error === null ? {} : { error }),
    ...labelsOf(view),
    ...(hasAnswer ? answerOf(delivery) : {}),
  };
}
