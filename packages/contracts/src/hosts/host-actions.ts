import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, reasonBody } from '../values.ts';
import { action, actionPage, actionWithEvents } from './answers.ts';
import { actionParams, actionQuery, hostParams, newAction } from './requests.ts';

/** Operators' requests for the services of a host. */
export const hostActions = {
  enqueue: endpoint({
    method: 'POST',
    path: '/api/hosts/:hostId/actions',
    summary: 'Start, stop or restart a service, now or as soon as the host is online',
    params: hostParams,
    body: newAction,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It already existed: same Idempotency-Key.', schema: action },
      201: { description: 'Queued.', schema: action },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId/actions',
    summary: 'List the actions of a host, newest first',
    params: hostParams,
    query: actionQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: actionPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId/actions/:actionId',
    summary: 'Get an action of a host with its history',
    params: actionParams,
    responses: { 200: { description: 'The action.', schema: actionWithEvents } },
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/api/hosts/:hostId/actions/:actionId/cancel',
    summary: 'Cancel an action; if it is running, its agent is asked to stop',
    params: actionParams,
    body: reasonBody,
    responses: { 200: { description: 'The action.', schema: action } },
  }),
};
