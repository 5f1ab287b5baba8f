import { endpoint } from '../endpoint.ts';
import { INSTANCE } from '../values.ts';
import { heartbeatAnswer, heldActions, lockedActions, reportAnswer } from './answers.ts';
import { heartbeatBody, pollQuery, reportBody } from './requests.ts';

/** The requests of agents. */
export const control = {
  poll: endpoint({
    method: 'GET',
    path: '/api/control/queue',
    summary: 'Lock the next actions of the host, waiting for some if asked',
    headers: INSTANCE,
    query: pollQuery,
    responses: {
      200: { description: 'Locked for this host, oldest first.', schema: lockedActions },
      204: { description: 'No work, even after the wait.' },
    },
  }),
  running: endpoint({
    method: 'GET',
    path: '/api/control/running',
    summary: 'List what the host holds; ask at start and after a request that got no answer',
    headers: INSTANCE,
    responses: { 200: { description: 'Locked before and not reported yet.', schema: heldActions } },
  }),
  report: endpoint({
    method: 'POST',
    path: '/api/control/report',
    summary: 'Report an action, and optionally take the next ones',
    headers: INSTANCE,
    body: reportBody,
    responses: {
      200: {
        description: 'Whether the report counted. Late reports are recorded and change nothing.',
        schema: reportAnswer,
      },
    },
  }),
  heartbeat: endpoint({
    method: 'POST',
    path: '/api/control/heartbeat',
    summary: 'Heartbeat: keep running actions and learn which were cancelled',
    headers: INSTANCE,
    body: heartbeatBody,
    responses: {
      200: {
        description: 'One entry for each named action, and for other cancelled actions of this agent.',
        schema: heartbeatAnswer,
      },
    },
  }),
};
