import { endpoint } from '../endpoint.ts';
import { emptyBody, idParams, pageQuery } from '../values.ts';
import {
  delivery,
  deliveryPage,
  deliveryWithTries,
  newWebhook,
  pinged,
  replayed,
  rotated,
  webhook,
  webhookPage,
} from './answers.ts';
import {
  deliveryParams,
  deliveryQuery,
  pauseBody,
  replayBody,
  resumeBody,
  webhookBody,
  webhookPatch,
} from './requests.ts';

const asItIs = { 200: { description: 'The webhook.', schema: webhook } } as const;

/** Events sent to other systems. */
export const webhooks = {
  create: endpoint({
    method: 'POST',
    path: '/api/webhooks',
    summary: 'Create a webhook that sends events from now on as signed CloudEvents',
    body: webhookBody,
    responses: { 201: { description: 'The secret is shown once.', schema: newWebhook } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/webhooks',
    summary: 'List webhooks, newest first',
    query: pageQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: webhookPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id',
    summary: 'Get a webhook and how many deliveries wait for it',
    params: idParams,
    responses: asItIs,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/webhooks/:id',
    summary: 'Update a webhook; omitted fields stay as they are',
    params: idParams,
    body: webhookPatch,
    responses: asItIs,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/webhooks/:id',
    summary: 'Delete a webhook; its waiting deliveries are not sent',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  pause: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/pause',
    summary: 'Pause a webhook; events of the pause are sent after it is resumed',
    params: idParams,
    body: pauseBody,
    responses: asItIs,
  }),
  resume: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/resume',
    summary: 'Resume a webhook; it continues where it was paused',
    params: idParams,
    body: resumeBody,
    responses: asItIs,
  }),
  rotateSecret: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/rotate-secret',
    summary: 'Rotate the secret; for a day requests are also signed with the old one',
    params: idParams,
    body: emptyBody,
    responses: { 200: { description: 'The secret is shown once.', schema: rotated } },
  }),
  ping: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/ping',
    summary: 'Send a webhook.ping now, even while paused, and return the response',
    params: idParams,
    body: emptyBody,
    responses: { 200: { description: 'The outcome.', schema: pinged } },
  }),
  replay: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/replay',
    summary: 'Replay the deliveries of a time range, 500 per request',
    params: idParams,
    body: replayBody,
    responses: { 200: { description: 'How many were queued.', schema: replayed } },
  }),
  deliveries: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id/deliveries',
    summary: 'List deliveries, newest first; with a filter a page may be short and still have a cursor',
    params: idParams,
    query: deliveryQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: deliveryPage } },
  }),
  delivery: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id/deliveries/:deliveryId',
    summary: 'Get a delivery: its body, and the response to each try',
    params: deliveryParams,
    responses: { 200: { description: 'The delivery.', schema: deliveryWithTries } },
  }),
  replayOne: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/deliveries/:deliveryId/replay',
    summary: 'Replay a delivery, behind those that wait',
    params: deliveryParams,
    body: emptyBody,
    responses: { 201: { description: 'The new delivery.', schema: delivery } },
  }),
};
