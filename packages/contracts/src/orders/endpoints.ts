import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams } from '../values.ts';
import {
  bot,
  botPage,
  botToken,
  cleared,
  completed,
  newBot,
  notClaimed,
  order,
  orderPage,
} from './answers.ts';
import { botListQuery, botPatch, noFields, orderBody, orderListQuery, orderPatch } from './requests.ts';

const clear = { summary: 'Delete all orders and free their bots; numbering continues' } as const;

/** Orders, which bots process one at a time. */
export const orders = {
  create: endpoint({
    method: 'POST',
    path: '/api/orders',
    summary: 'Create an order, at the end of its type',
    body: orderBody,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It already existed: same Idempotency-Key.', schema: order },
      201: { description: 'It waits for a bot.', schema: order },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/orders',
    summary:
      'List orders: waiting ones in order of their turn, VIP first; then those processing and complete, newest first',
    query: orderListQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: orderPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/orders/:id',
    summary: 'Get an order; deleted ones are only in the list with deleted=true',
    params: idParams,
    responses: { 200: { description: 'The order.', schema: order } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/orders/:id',
    summary: 'Assign an order to a bot, take it back, complete it, or restore a deleted one',
    params: idParams,
    body: orderPatch,
    responses: { 200: { description: 'The order.', schema: order } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/orders/:id',
    summary: 'Delete an order and free its bot; it can be restored',
    params: idParams,
    responses: { 204: { description: 'It can be restored for a few days.' } },
  }),
  complete: endpoint({
    method: 'POST',
    path: '/api/orders/complete',
    summary: 'Receive the signed callback at the end of the time of an order: {orderId, botId, attempt}',
    headers: {
      'Upstash-Signature':
        'Signs the body and the address with a key of the tenant or of the QStash account.',
    },
    bytes: ['application/json'],
    responses: { 200: { description: 'It is complete now, or was before.', schema: completed } },
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

/** The bots that process orders. */
export const bots = {
  create: endpoint({
    method: 'POST',
    path: '/api/bots',
    summary: 'Create a bot and its token',
    body: noFields,
    responses: { 201: { description: 'The token is shown once.', schema: newBot } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/bots',
    summary: 'List bots, oldest first',
    query: botListQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: botPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/bots/:id',
    summary: 'Get a bot; deleted ones are only in the list with deleted=true',
    params: idParams,
    responses: { 200: { description: 'The bot.', schema: bot } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/bots/:id',
    summary: 'Set a bot idle, returning its order to its old place, or restore a deleted bot',
    params: idParams,
    body: botPatch,
    responses: { 200: { description: 'The bot.', schema: bot } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/bots/:id',
    summary: 'Delete a bot and return its order to its old place; the bot can be restored',
    params: idParams,
    responses: { 204: { description: 'It can be restored for a few days.' } },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/bots/:id/token',
    summary: 'Rotate the token of a bot; the old one stays valid until the new one is used',
    params: idParams,
    responses: { 201: { description: 'Shown once.', schema: botToken } },
  }),
  claim: endpoint({
    method: 'POST',
    path: '/api/bots/:id/claim',
    summary: 'Claim the next order for an idle bot',
    params: idParams,
    body: noFields,
    responses: {
      200: { description: 'The order, or null if none is waiting.', schema: order.nullable() },
      409: {
        description: 'The bot already has an order, or its order changed at this moment.',
        schema: notClaimed,
      },
    },
  }),
};
