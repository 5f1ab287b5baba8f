import { endpoint } from '../endpoint.ts';
import { INSTANCE } from '../values.ts';
import { heartbeatAnswer, heldActions, lockedActions, reportAnswer } from './answers.ts';
import { heartbeatBody, pollQuery, reportBody } from './requests.ts';

/** What agents do. */
export const control = {
  poll: endpoint({
    method: 'GET',
    path: '/api/control/queue',
    summary: 'Lock the next actions of the host, or wait for some',
    headers: INSTANCE,
    query: pollQuery,
    responses: {
      200: { description: 'Locked for this host, oldest first.', schema: lockedActions },
      204: { description: 'There is nothing to do, also after the wait.' },
    },
  }),
  running: endpoint({
    method: 'GET',
    path: '/api/control/running',
    summary: 'What the host holds: to be asked at start and after a request without an answer',
    headers: INSTANCE,
    responses: { 200: { description: 'Locked before and not reported yet.', schema: heldActions } },
  }),
  report: endpoint({
    method: 'POST',
    path: '/api/control/report',
    summary: 'Say how an action went, and perhaps take the next ones with it',
    headers: INSTANCE,
    body: reportBody,
    responses: {
      200: {
        description: 'Whether the report counted; late ones are recorded and change nothing.',
        schema: reportAnswer,
      },
    },
  }),
  heartbeat: endpoint({
    method: 'POST',
    path: '/api/control/heartbeat',
    summary: 'Keep the actions that are still running, and hear which of them were cancelled',
    headers: INSTANCE,
    body: heartbeatBody,
    responses: {
      200: {
        description:
          'One entry for each action that was named, and for others of this agent that were cancelled.',
        schema: heartbeatAnswer,
      },
    },
  }),
};
