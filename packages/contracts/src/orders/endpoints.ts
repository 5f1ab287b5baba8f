import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, pageQuery } from '../values.ts';
import { bot, botBusy, botPage, botToken, cleared, completed, newBot, order, orderPage } from './answers.ts';
import { botPatch, orderBody, orderPatch } from './requests.ts';

const clear = { summary: 'Deletes all orders and frees their bots; numbering goes on' } as const;

/** Orders, of which bots process one at a time. */
export const orders = {
  create: endpoint({
    method: 'POST',
    path: '/api/orders',
    summary: 'A new order, at the end of its type',
    body: orderBody,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It was there already, by its Idempotency-Key.', schema: order },
      201: { description: 'It waits for a bot.', schema: order },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/orders',
    summary:
      'Those that wait in the order of their turn, VIP first; then those in process and complete ones, newest first',
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: orderPage } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/orders/:id',
    summary: 'Gives it to a bot, takes it back, completes it, or restores a deleted one',
    params: idParams,
    body: orderPatch,
    responses: { 200: { description: 'The order as it is now.', schema: order } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/orders/:id',
    summary: 'Deletes an order for the time being; its bot is free',
    params: idParams,
    responses: { 204: { description: 'It can be restored for some days.' } },
  }),
  complete: endpoint({
    method: 'POST',
    path: '/api/orders/complete',
    summary:
      'The callback at the end of an order’s time: {orderId, botId, attempt}, signed, and for the tenant of the query',
    headers: {
      'Upstash-Signature':
        'That of the body and the address, by a key of the tenant or of the QStash account.',
    },
    bytes: ['application/json'],
    responses: { 200: { description: 'It is complete, or was already.', schema: completed } },
  }),
  clear: endpoint({
    method: 'POST',
    path: '/api/orders/clear',
    ...clear,
    responses: { 200: { description: 'How many.', schema: cleared } },
  }),
  removeAll: endpoint({
    method: 'DELETE',
    path: '/api/orders/clear',
    ...clear,
    responses: { 204: { description: 'There are none.' } },
  }),
};

/** Who processes orders. */
export const bots = {
  create: endpoint({
    method: 'POST',
    path: '/api/bots',
    summary: 'A new bot and its token',
    responses: { 201: { description: 'Its token is shown once.', schema: newBot } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/bots',
    summary: 'List bots, the oldest first',
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: botPage } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/bots/:id',
    summary: 'Sets a bot idle, whose order waits in its old place again, or restores a deleted one',
    params: idParams,
    body: botPatch,
    responses: { 200: { description: 'The bot as it is now.', schema: bot } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/bots/:id',
    summary: 'Deletes a bot for the time being; its order waits in its old place again',
    params: idParams,
    responses: { 204: { description: 'It can be restored for some days.' } },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/bots/:id/token',
    summary:
      'A new token for a bot, as after it was restored; the old one holds until the new one is first used',
    params: idParams,
    responses: { 201: { description: 'It is shown once.', schema: botToken } },
  }),
  claim: endpoint({
    method: 'POST',
    path: '/api/bots/:id/claim',
    summary: 'The next order for an idle bot',
    params: idParams,
    responses: {
      200: { description: 'The order, or null if none waits.', schema: order.nullable() },
      409: { description: 'The bot has one already.', schema: botBusy },
    },
  }),
};
