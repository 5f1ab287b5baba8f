import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { idParams } from '../values.ts';
import { cancelled, dismissed, eventPage, keys, letterPage, message, published, retried } from './answers.ts';
import { batchBody, cancelBody, cancelQuery, eventQuery, letterBody, letterQuery } from './requests.ts';

/** The part of QStash's interface that Muster supports, under QStash's paths, for QStash's unchanged client. */
const OPTIONS = {
  'Upstash-Method': 'The method of the callback; POST by default.',
  'Upstash-Delay': 'How long to wait before sending: 10s, 5m, 1d12h.',
  'Upstash-Not-Before': 'When to send it, in seconds since 1970.',
  'Upstash-Retries': 'How many retries; 3 by default.',
  'Upstash-Timeout': 'How long the destination may take: 30s by default, 10m at most.',
  'Upstash-Deduplication-Id': 'A second message with the same id is not sent: 202 with the first one.',
  'Upstash-Content-Based-Deduplication': '"true": use the content as the deduplication id.',
  'Upstash-Callback': 'Where to send the response of the destination.',
  'Upstash-Failure-Callback': 'Where to report that all tries failed.',
  'Upstash-Label': 'Labels, separated by commas.',
  'Upstash-Forward-*': 'A header to forward, without the prefix.',
} as const;

export const callbacks = {
  publish: endpoint({
    method: 'POST',
    path: '/v2/publish/*',
    summary: 'Publish a signed request to the URL in the path, sent now or later and retried',
    headers: OPTIONS,
    bytes: ['*/*'],
    responses: {
      201: { description: 'Accepted.', schema: published },
      202: { description: 'The existing message with this deduplication id.', schema: published },
    },
  }),
  batch: endpoint({
    method: 'POST',
    path: '/v2/batch',
    summary: 'Publish up to a hundred messages, all or none',
    body: batchBody,
    responses: { 201: { description: 'In the order of the request.', schema: z.array(published) } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/v2/messages/:id',
    summary: 'Get a message that is not delivered yet',
    params: idParams,
    responses: { 200: { description: 'The message.', schema: message } },
  }),
  cancel: endpoint({
    method: 'DELETE',
    path: '/v2/messages/:id',
    summary: 'Cancel a message; a request in flight is aborted within a second or two',
    params: idParams,
    responses: { 200: { description: 'Cancelled.', schema: cancelled } },
  }),
  cancelMany: endpoint({
    method: 'DELETE',
    path: '/v2/messages',
    summary: 'Cancel the given messages, all with a label, or all; up to count of them',
    query: cancelQuery,
    body: cancelBody,
    responses: { 200: { description: 'How many.', schema: cancelled } },
  }),
  deadLetters: endpoint({
    method: 'GET',
    path: '/v2/dlq',
    summary: 'List messages that ran out of tries, newest first',
    query: letterQuery,
    responses: { 200: { description: 'One page.', schema: letterPage } },
  }),
  dismiss: endpoint({
    method: 'DELETE',
    path: '/v2/dlq/:id',
    summary: 'Delete a dead letter',
    params: idParams,
    responses: { 200: { description: 'Done.', schema: dismissed } },
  }),
  dismissMany: endpoint({
    method: 'DELETE',
    path: '/v2/dlq',
    summary: 'Delete the given dead letters, or up to count of them',
    query: letterQuery,
    body: letterBody,
    responses: { 200: { description: 'How many.', schema: dismissed } },
  }),
  retry: endpoint({
    method: 'POST',
    path: '/v2/dlq/retry',
    summary: 'Retry the given dead letters, or up to count of them',
    query: letterQuery,
    body: letterBody,
    responses: { 200: { description: 'The messages, with their old ids.', schema: retried } },
  }),
  events: endpoint({
    method: 'GET',
    path: '/v2/events',
    summary: 'List what happened to messages, with the response to each delivery; newest message first',
    query: eventQuery,
    responses: { 200: { description: 'The events of one page of messages.', schema: eventPage } },
  }),
  keys: endpoint({
    method: 'GET',
    path: '/v2/keys',
    summary: 'Get the keys that verify callbacks',
    responses: { 200: { description: 'The current and the next key.', schema: keys } },
  }),
  rotateKeys: endpoint({
    method: 'POST',
    path: '/v2/keys/rotate',
    summary: 'Rotate the keys: the next one becomes current, and a new next one is created',
    responses: { 200: { description: 'The new keys.', schema: keys } },
  }),
};
