import { endpoint } from '../endpoint.ts';
import { INSTANCE, idParams } from '../values.ts';
import { acknowledged, claimed, heartbeat, heldDevices, pcHeartbeat, reported } from './answers.ts';
import { attemptBody, claimBody, completeBody, failBody, pcHeartbeatBody } from './requests.ts';

/** The requests of runners. */
export const runners = {
  claim: endpoint({
    method: 'POST',
    path: '/api/pcs/:id/claim',
    summary: 'Claim work for the free slots of the PC, waiting for some if asked',
    headers: INSTANCE,
    params: idParams,
    body: claimBody,
    responses: {
      200: {
        description: 'Work just handed out. Asking for more than the free slots is not an error.',
        schema: claimed,
      },
    },
  }),
  running: endpoint({
    method: 'GET',
    path: '/api/pcs/:id/running',
    summary: 'List what the runner holds; ask at start and after a request that got no answer',
    headers: INSTANCE,
    params: idParams,
    responses: { 200: { description: 'Handed out before and not reported yet.', schema: heldDevices } },
  }),
  watch: endpoint({
    method: 'POST',
    path: '/api/pcs/:id/heartbeat',
    summary: 'Learn which running attempts were cancelled, waiting if asked; their time is not extended',
    headers: INSTANCE,
    params: idParams,
    body: pcHeartbeatBody,
    responses: {
      200: {
        description: 'One entry for each named attempt, and for other cancelled attempts of this runner.',
        schema: pcHeartbeat,
      },
    },
  }),
  complete: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/complete',
    summary: 'Report success of a device, and optionally take the next work',
    headers: INSTANCE,
    params: idParams,
    body: completeBody,
    responses: { 200: { description: 'Whether it counted.', schema: reported } },
  }),
  fail: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/fail',
    summary: 'Report a failed attempt, and optionally take the next work',
    headers: INSTANCE,
    params: idParams,
    body: failBody,
    responses: {
      200: {
        description: 'pending: it will be retried. failed: no attempts are left and the device is in error.',
        schema: reported,
      },
    },
  }),
  acknowledge: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/ack',
    summary: 'Report that the attempt was received and started',
    headers: INSTANCE,
    params: idParams,
    body: attemptBody,
    responses: { 200: { description: 'Whether this attempt is the running one.', schema: acknowledged } },
  }),
  heartbeat: endpoint({
    method: 'POST',
    path: '/api/task-devices/:id/heartbeat',
    summary: 'Learn whether the attempt is still wanted; its time is not extended',
    headers: INSTANCE,
    params: idParams,
    body: attemptBody,
    responses: {
      200: {
        description: 'Whether this attempt is the running one, and whether to stop.',
        schema: heartbeat,
      },
    },
  }),
};
