import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, pageQuery } from '../values.ts';
import { accepted, batch, batchPage, retried, targetPage } from './answers.ts';
import { batchBody, retryBody, targetsQuery } from './requests.ts';

/** One action for many devices, at a limited rate. */
export const batches = {
  create: endpoint({
    method: 'POST',
    path: '/api/batches',
    summary: 'Create a batch: one action for many devices, with an optional rate and abort rule',
    body: batchBody,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It already existed: same Idempotency-Key.', schema: accepted },
      201: { description: 'Created with a fixed set of targets; their actions follow.', schema: accepted },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/batches',
    summary: 'List batches, newest first',
    query: pageQuery,
    responses: { 200: { description: 'A page; pass its cursor to get older entries.', schema: batchPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/batches/:id',
    summary: 'Get a batch with exact counts',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: batch } },
  }),
  targets: endpoint({
    method: 'GET',
    path: '/api/batches/:id/targets',
    summary: 'List the devices of a batch and the outcome of each',
    params: idParams,
    query: targetsQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: targetPage } },
  }),
  retry: endpoint({
    method: 'POST',
    path: '/api/batches/:id/retry',
    summary: 'Retry the targets that failed or never started',
    params: idParams,
    body: retryBody,
    responses: { 200: { description: 'How many.', schema: retried } },
  }),
  pause: endpoint({
    method: 'POST',
    path: '/api/batches/:id/pause',
    summary: 'Pause a batch: nothing more is queued or handed out',
    params: idParams,
    responses: { 200: { description: 'The batch.', schema: batch } },
  }),
  resume: endpoint({
    method: 'POST',
    path: '/api/batches/:id/resume',
    summary: 'Resume a batch',
    params: idParams,
    responses: { 200: { description: 'The batch.', schema: batch } },
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/api/batches/:id/cancel',
    summary: 'Cancel a batch: waiting actions are cancelled, running ones asked to stop',
    params: idParams,
    responses: { 200: { description: 'The batch.', schema: batch } },
  }),
};
