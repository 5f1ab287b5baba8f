import { endpoint } from '../endpoint.ts';
import { INSTANCE, idParams } from '../values.ts';
import { acknowledged, claimed, heartbeat, heldDevices, pcHeartbeat, reported } from './answers.ts';
import { attemptBody, claimBody, completeBody, failBody, pcHeartbeatBody } from './requests.ts';

/** What runners do. */
export const runners = {
  claim: endpoint({
    method: 'POST',
    path: '/api/pcs/:id/claim',
    summary: 'Take work for the free slots of the PC, or wait for some',
    headers: INSTANCE,
    params: idParams,
    body: claimBody,
    responses: {
      200: {
        description: 'Handed out just now; asking for more than is free is no error.',
        schema: claimed,
      },
    },
  }),
  running: endpoint({
    method: 'GET',
    path: '/api/pcs/:id/running',
    summary: 'What the runner of the PC holds: to be asked at start and after a request without an answer',
    headers: INSTANCE,
    params: idParams,
    responses: { 200: { description: 'Handed out before and not reported yet.', schema: heldDevices } },
  }),
  watch: endpoint({
    method: 'POST',
    path: '/api/pcs/:id/heartbeat',
    summary:
      'Hear which of the attempts that run are not wanted any more, or wait for that; their time stays as it is',
    headers: INSTANCE,
    params: idParams,
    body: pcHeartbeatBody,
    responses: {
      200: {
        description: 'One entry for each that was named, and for others of this runner that were cancelled.',
        schema: pcHeartbeat,
      },
    },
  }),
  complete: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/complete',
    summary: 'The device is done; perhaps take the next work with it',
    headers: INSTANCE,
    params: idParams,
    body: completeBody,
    responses: { 200: { description: 'Whether it counted.', schema: reported } },
  }),
  fail: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/fail',
    summary: 'The attempt failed; perhaps take the next work with it',
    headers: INSTANCE,
    params: idParams,
    body: failBody,
    responses: {
      200: {
        description: 'pending: it is tried again. failed: the tries are used up, the device is in error.',
        schema: reported,
      },
    },
  }),
  acknowledge: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/ack',
    summary: 'The attempt has been received and begun',
    headers: INSTANCE,
    params: idParams,
    body: attemptBody,
    responses: { 200: { description: 'Whether it is the running one.', schema: acknowledged } },
  }),
  heartbeat: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/heartbeat',
    summary: 'Hear whether the attempt is still wanted; its time stays as it is',
    headers: INSTANCE,
    params: idParams,
    body: attemptBody,
    responses: {
      200: { description: 'Whether it is the running one, and whether to stop.', schema: heartbeat },
    },
  }),
};
