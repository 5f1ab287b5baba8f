import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, reasonBody } from '../values.ts';
import {
  action,
  actionWithEvents,
  actionWithOutcome,
  cancelledMatching,
  claimAnswer,
  counted,
  counts,
  extendAnswer,
  failures,
  laneState,
  page,
  pauseState,
  pauses,
  redrivenMatching,
  reportAnswer,
  revealed,
} from './answers.ts';
import {
  claimBody,
  copyBody,
  countBody,
  enqueueBody,
  extendBody,
  filterBody,
  laneParams,
  listQuery,
  pauseBody,
  redriveBody,
  redriveFilterBody,
  releaseBody,
  reportBody,
} from './requests.ts';

/** Generic lanes for anybody, and the operator's hand on the actions of every door. */
const asItIsNow = { 200: { description: 'The action as it is now.', schema: actionWithOutcome } };

export const actions = {
  enqueue: endpoint({
    method: 'POST',
    path: '/api/lanes/:lane/actions',
    summary: 'Queue an action in a lane, which is made on first use',
    params: laneParams,
    body: enqueueBody,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: {
        description: 'It was there already: by its Idempotency-Key or its supersede key.',
        schema: action,
      },
      201: { description: 'Queued.', schema: action },
    },
  }),
  cancelMatching: endpoint({
    method: 'POST',
    path: '/api/actions/cancel',
    summary: 'Cancel every unfinished action that matches',
    body: filterBody,
    responses: {
      200: {
        description: 'How many ended at once, and how many running ones were told to stop.',
        schema: cancelledMatching,
      },
    },
  }),
  redriveMatching: endpoint({
    method: 'POST',
    path: '/api/actions/redrive',
    summary: 'Queue every dead letter that matches again',
    body: redriveFilterBody,
    responses: {
      200: { description: 'How many are pending again, and which are not.', schema: redrivenMatching },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/actions',
    summary: 'List actions, newest first',
    query: listQuery,
    responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: page } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/actions/:id',
    summary: 'One action with its history and what it is waiting for',
    params: idParams,
    responses: { 200: { description: 'The action.', schema: actionWithEvents } },
  }),
  count: endpoint({
    method: 'POST',
    path: '/api/actions/count',
    summary: 'How many actions match: exactly up to 10,000',
    body: countBody,
    responses: { 200: { description: 'As of now.', schema: counted } },
  }),
  failures: endpoint({
    method: 'GET',
    path: '/api/actions/failures',
    summary: 'The causes of dead letters: the newest 1,000, by kind and error',
    responses: { 200: { description: 'As of now.', schema: failures } },
  }),
  reveal: endpoint({
    method: 'POST',
    path: '/api/actions/:id/reveal',
    summary:
      'The payload and result of an action with the fields that are hidden otherwise; in the audit log',
    params: idParams,
    body: reasonBody,
    responses: { 200: { description: 'All of it.', schema: revealed } },
  }),
  counts: endpoint({
    method: 'GET',
    path: '/api/counts',
    summary: 'How many actions are in each state, by channel',
    responses: { 200: { description: 'Counts above zero.', schema: counts } },
  }),
  pauses: endpoint({
    method: 'GET',
    path: '/api/pauses',
    summary: 'What is paused: everything, or tags',
    responses: { 200: { description: 'A tag of null means everything.', schema: pauses } },
  }),
  claim: endpoint({
    method: 'POST',
    path: '/api/lanes/:lane/claim',
    summary: 'Claim the next action of a lane, or wait for one',
    params: laneParams,
    body: claimBody,
    responses: {
      200: { description: 'One action at most; none after a wait in vain.', schema: claimAnswer },
    },
  }),
  report: endpoint({
    method: 'POST',
    path: '/api/actions/:id/report',
    summary: 'Say how an attempt went, and perhaps claim the next action with it',
    params: idParams,
    body: reportBody,
    responses: {
      200: {
        description: 'Whether the report counted; late ones are recorded and change nothing.',
        schema: reportAnswer,
      },
    },
  }),
  extend: endpoint({
    method: 'POST',
    path: '/api/actions/:id/extend',
    summary: 'Ask for more time for a running attempt',
    params: idParams,
    body: extendBody,
    responses: {
      200: {
        description: 'Until when; or that the attempt is not running any more.',
        schema: extendAnswer,
      },
    },
  }),
  release: endpoint({
    method: 'POST',
    path: '/api/actions/:id/release',
    summary: 'Give an attempt back that was not begun',
    params: idParams,
    body: releaseBody,
    responses: { 200: { description: 'Whether it was given back.', schema: reportAnswer } },
  }),

  cancel: endpoint({
    method: 'POST',
    path: '/api/actions/:id/cancel',
    summary: 'Cancel an action; a running one is told to its worker',
    params: idParams,
    body: reasonBody,
    responses: asItIsNow,
  }),
  copy: endpoint({
    method: 'POST',
    path: '/api/actions/:id/copy',
    summary: 'Edit and run again: queue a copy of a finished action, with what the body changes',
    params: idParams,
    body: copyBody,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It was there already, by its Idempotency-Key.', schema: action },
      201: { description: 'Queued; it names the old one.', schema: action },
    },
  }),
  redrive: endpoint({
    method: 'POST',
    path: '/api/actions/:id/redrive',
    summary: 'Queue a dead letter again, at the end of its class',
    params: idParams,
    body: redriveBody,
    responses: asItIsNow,
  }),
  moveToFront: endpoint({
    method: 'POST',
    path: '/api/actions/:id/move-to-front',
    summary: 'Put an action before all others of its class in its lane',
    params: idParams,
    body: reasonBody,
    responses: asItIsNow,
  }),
  pauseLane: endpoint({
    method: 'POST',
    path: '/api/lanes/:lane/pause',
    summary: 'Hand out nothing more from a lane',
    params: laneParams,
    body: reasonBody,
    responses: { 200: { description: 'Done.', schema: laneState } },
  }),
  resumeLane: endpoint({
    method: 'POST',
    path: '/api/lanes/:lane/resume',
    summary: 'Hand out from a lane again',
    params: laneParams,
    body: reasonBody,
    responses: { 200: { description: 'Done.', schema: laneState } },
  }),
  pause: endpoint({
    method: 'POST',
    path: '/api/pause',
    summary: 'Hand out nothing more, at all or with a tag',
    body: pauseBody,
    responses: { 200: { description: 'Done.', schema: pauseState } },
  }),
  resume: endpoint({
    method: 'POST',
    path: '/api/resume',
    summary: 'End such a pause',
    body: pauseBody,
    responses: { 200: { description: 'Done.', schema: pauseState } },
  }),
};
