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

const asItIs = { 200: { description: 'The webhook as it is now.', schema: webhook } } as const;

/** What happens, sent to whoever wants to know of it. */
export const webhooks = {
  create: endpoint({
    method: 'POST',
    path: '/api/webhooks',
    summary: 'Sends what happens from now on to an address, as signed CloudEvents',
    body: webhookBody,
    responses: { 201: { description: 'Its secret is shown once.', schema: newWebhook } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/webhooks',
    summary: 'List webhooks, the newest first',
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: webhookPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id',
    summary: 'One webhook, and how much waits for it',
    params: idParams,
    responses: asItIs,
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/webhooks/:id',
    summary: 'Changes where it is sent to, or what',
    params: idParams,
    body: webhookPatch,
    responses: asItIs,
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/webhooks/:id',
    summary: 'Deletes a webhook; what waits for it is not sent any more',
    params: idParams,
    responses: { 204: { description: 'It is gone.' } },
  }),
  pause: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/pause',
    summary: 'Sends nothing until it is resumed; what happens meanwhile is sent then',
    params: idParams,
    body: pauseBody,
    responses: asItIs,
  }),
  resume: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/resume',
    summary: 'Goes on where it was paused',
    params: idParams,
    body: resumeBody,
    responses: asItIs,
  }),
  rotateSecret: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/rotate-secret',
    summary: 'A new secret; for a day requests are signed with the former one too',
    params: idParams,
    body: emptyBody,
    responses: { 200: { description: 'The secret is shown once.', schema: rotated } },
  }),
  ping: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/ping',
    summary: 'Sends an event webhook.ping now, also while it is paused, and says what was answered',
    params: idParams,
    body: emptyBody,
    responses: { 200: { description: 'What came of it.', schema: pinged } },
  }),
  replay: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/replay',
    summary: 'Sends the deliveries of a time range again, 500 per request',
    params: idParams,
    body: replayBody,
    responses: { 200: { description: 'How many were queued again.', schema: replayed } },
  }),
  deliveries: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id/deliveries',
    summary:
      'What was sent, the newest first; with a filter a page may have fewer than it could, and a cursor',
    params: idParams,
    query: deliveryQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: deliveryPage } },
  }),
  delivery: endpoint({
    method: 'GET',
    path: '/api/webhooks/:id/deliveries/:deliveryId',
    summary: 'One delivery: what is sent, and what was answered to each try',
    params: deliveryParams,
    responses: { 200: { description: 'The delivery.', schema: deliveryWithTries } },
  }),
  replayOne: endpoint({
    method: 'POST',
    path: '/api/webhooks/:id/deliveries/:deliveryId/replay',
    summary: 'Sends it again, behind what waits',
    params: deliveryParams,
    body: emptyBody,
    responses: { 201: { description: 'The new delivery.', schema: delivery } },
  }),
};
