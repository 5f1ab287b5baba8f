import { page } from '../actions/answers.ts';
import { targetActionsQuery } from '../actions/requests.ts';
import { endpoint } from '../endpoint.ts';
import { deviceAction } from '../fleet/requests.ts';
import { IDEMPOTENCY_KEY, INSTANCE, idParams } from '../values.ts';
import { assigned, checkedIn, queue } from './answers.ts';
import { checkinBody } from './requests.ts';

/** What waits for a device, and what it gets at a check-in. */
export const checkin = {
  checkIn: endpoint({
    method: 'POST',
    path: '/api/checkin',
    summary: 'Check in: report the last action and get the next one',
    headers: INSTANCE,
    body: checkinBody,
    responses: {
      200: {
        description:
          'At most one action. A result that is unknown, late or from another device changes nothing.',
        schema: checkedIn,
      },
    },
  }),
  assign: endpoint({
    method: 'POST',
    path: '/api/devices/:id/actions',
    summary: 'Assign an action to a device, delivered at one of its next check-ins',
    params: idParams,
    body: deviceAction,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: {
        description: 'It already existed: same Idempotency-Key or supersede key.',
        schema: assigned,
      },
      201: { description: 'Queued for the device.', schema: assigned },
    },
  }),
  actions: endpoint({
    method: 'GET',
    path: '/api/devices/:id/actions',
    summary: 'List the actions of a device from all doors, including finished ones, newest first',
    params: idParams,
    query: targetActionsQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: page } },
  }),
  queue: endpoint({
    method: 'GET',
    path: '/api/devices/:id/queue',
    summary: 'List what waits for a device, in order of delivery',
    params: idParams,
    responses: { 200: { description: 'The running one comes first.', schema: queue } },
  }),
};
