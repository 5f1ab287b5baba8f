import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { idParams } from '../values.ts';
import { cancelled, dismissed, eventPage, keys, letterPage, message, published, retried } from './answers.ts';
import { batchBody, cancelQuery, eventQuery, letterQuery } from './requests.ts';

/** The part of QStash's interface that Muster has, under QStash's paths: its client is used as it is. */
const OPTIONS = {
  'Upstash-Method': 'The method of the request that is sent; POST if nothing is said.',
  'Upstash-Delay': 'How long to wait before it is sent: 10s, 5m, 1d12h.',
  'Upstash-Not-Before': 'When it is sent, in seconds since 1970.',
  'Upstash-Retries': 'How often it is tried again; 3 if nothing is said.',
  'Upstash-Timeout': 'How long the destination may take: 30s if nothing is said, 10m at most.',
  'Upstash-Deduplication-Id': 'A second message with it is not sent: 202 with the first one.',
  'Upstash-Content-Based-Deduplication': 'With "true" the content itself is the deduplication id.',
  'Upstash-Callback': 'Where the answer of the destination is sent to.',
  'Upstash-Failure-Callback': 'Where it is told that all tries were in vain.',
  'Upstash-Label': 'Labels, separated by commas.',
  'Upstash-Forward-*': 'A header of the request that is sent, without the prefix.',
} as const;

export const callbacks = {
  publish: endpoint({
    method: 'POST',
    path: '/v2/publish/*',
    summary: 'Send a signed request to the address that follows in the path, now or later, until it is taken',
    headers: OPTIONS,
    bytes: ['*/*'],
    responses: {
      201: { description: 'Accepted.', schema: published },
      202: { description: 'There is one with this deduplication id: it stands here.', schema: published },
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
    summary: 'A message that is not delivered yet',
    params: idParams,
    responses: { 200: { description: 'The message.', schema: message } },
  }),
  cancel: endpoint({
    method: 'DELETE',
    path: '/v2/messages/:id',
    summary: 'Cancel a message; a request that is under way is not called back',
    params: idParams,
    responses: { 200: { description: 'Cancelled.', schema: cancelled } },
  }),
  cancelMany: endpoint({
    method: 'DELETE',
    path: '/v2/messages',
    summary: 'Cancel these messages, or all with a label, or all',
    query: cancelQuery,
    responses: { 200: { description: 'How many.', schema: cancelled } },
  }),
  deadLetters: endpoint({
    method: 'GET',
    path: '/v2/dlq',
    summary: 'Messages whose tries are used up, the newest first',
    query: letterQuery,
    responses: { 200: { description: 'One page.', schema: letterPage } },
  }),
  dismiss: endpoint({
    method: 'DELETE',
    path: '/v2/dlq/:id',
    summary: 'Take one out of the dead letters',
    params: idParams,
    responses: { 200: { description: 'Done.', schema: dismissed } },
  }),
  dismissMany: endpoint({
    method: 'DELETE',
    path: '/v2/dlq',
    summary: 'Take these out of the dead letters, or as many as count says',
    query: letterQuery,
    responses: { 200: { description: 'How many.', schema: dismissed } },
  }),
  retry: endpoint({
    method: 'POST',
    path: '/v2/dlq/retry',
    summary: 'Try these dead letters again, or as many as count says',
    query: letterQuery,
    responses: { 200: { description: 'The messages, with the ids they had.', schema: retried } },
  }),
  events: endpoint({
    method: 'GET',
    path: '/v2/events',
    summary: 'What has happened to messages, with the answer of each delivery; the newest message first',
    query: eventQuery,
    responses: { 200: { description: 'The events of one page of messages.', schema: eventPage } },
  }),
  keys: endpoint({
    method: 'GET',
    path: '/v2/keys',
    summary: 'The keys by which a receiver knows that a callback is from here',
    responses: { 200: { description: 'The present key and the next one.', schema: keys } },
  }),
  rotateKeys: endpoint({
    method: 'POST',
    path: '/v2/keys/rotate',
    summary: 'The next key becomes the present one, and there is a new next one',
    responses: { 200: { description: 'The keys from now on.', schema: keys } },
  }),
};
