import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, pageQuery } from '../values.ts';
import { accepted, batch, batchPage, retried, targetPage } from './answers.ts';
import { batchBody, retryBody, targetsQuery } from './requests.ts';

/** One action for many devices, at a pace. */
export const batches = {
  create: endpoint({
    method: 'POST',
    path: '/api/batches',
    summary: 'One action for many devices, at a pace and with a rule for stopping if you like',
    body: batchBody,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It was there already, by its Idempotency-Key.', schema: accepted },
      201: { description: 'The targets are frozen; their actions follow.', schema: accepted },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/batches',
    summary: 'List batches, newest first',
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to older ones.', schema: batchPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/batches/:id',
    summary: 'One batch, with counts that are exact at this moment',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: batch } },
  }),
  targets: endpoint({
    method: 'GET',
    path: '/api/batches/:id/targets',
    summary: 'The devices of a batch and what became of each',
    params: idParams,
    query: targetsQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: targetPage } },
  }),
  retry: endpoint({
    method: 'POST',
    path: '/api/batches/:id/retry',
    summary: 'Retry what failed and what never started',
    params: idParams,
    body: retryBody,
    responses: { 200: { description: 'How many.', schema: retried } },
  }),
  pause: endpoint({
    method: 'POST',
    path: '/api/batches/:id/pause',
    summary: 'Nothing more of the batch is put into lanes or handed out',
    params: idParams,
    responses: { 200: { description: 'The batch as it is now.', schema: batch } },
  }),
  resume: endpoint({
    method: 'POST',
    path: '/api/batches/:id/resume',
    summary: 'A paused batch goes on',
    params: idParams,
    responses: { 200: { description: 'The batch as it is now.', schema: batch } },
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/api/batches/:id/cancel',
    summary: 'Ends the batch: what waits is cancelled, what runs is told',
    params: idParams,
    responses: { 200: { description: 'The batch as it is now.', schema: batch } },
  }),
};
