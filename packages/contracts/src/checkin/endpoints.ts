import { page } from '../actions/answers.ts';
import { targetActionsQuery } from '../actions/requests.ts';
import { endpoint } from '../endpoint.ts';
import { deviceAction } from '../fleet/requests.ts';
import { IDEMPOTENCY_KEY, INSTANCE, idParams } from '../values.ts';
import { assigned, checkedIn, queue } from './answers.ts';
import { checkinBody } from './requests.ts';

/** What waits for a device, and what it gets when it comes. */
export const checkin = {
  checkIn: endpoint({
    method: 'POST',
    path: '/api/checkin',
    summary: 'A device comes, says how its action went and gets the next one',
    headers: INSTANCE,
    body: checkinBody,
    responses: {
      200: {
        description:
          'At most one action. A result that is unknown, late or of another device changes nothing.',
        schema: checkedIn,
      },
    },
  }),
  assign: endpoint({
    method: 'POST',
    path: '/api/devices/:id/actions',
    summary: 'Assign an action to a device; it is delivered at one of its next check-ins',
    params: idParams,
    body: deviceAction,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: {
        description: 'It was there already: by its Idempotency-Key or its supersede key.',
        schema: assigned,
      },
      201: { description: 'In the queue of the device.', schema: assigned },
    },
  }),
  actions: endpoint({
    method: 'GET',
    path: '/api/devices/:id/actions',
    summary: 'The actions of a device by whatever door, finished ones too, newest first',
    params: idParams,
    query: targetActionsQuery,
    responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: page } },
  }),
  queue: endpoint({
    method: 'GET',
    path: '/api/devices/:id/queue',
    summary: 'What waits for a device, in the order of delivery',
    params: idParams,
    responses: { 200: { description: 'The one it has at the moment comes first.', schema: queue } },
  }),
};
