import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, pageQuery } from '../values.ts';
import { run, runPage, workflow, workflowPage } from './answers.ts';
import { changeBody, workflowBody } from './requests.ts';

/** An action for many devices, again and again. */
export const workflows = {
  create: endpoint({
    method: 'POST',
    path: '/api/workflows',
    summary: 'An action for many devices, again and again, by a schedule',
    body: workflowBody,
    responses: { 201: { description: 'It runs when its time comes.', schema: workflow } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/workflows',
    summary: 'List workflows',
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: workflowPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/workflows/:id',
    summary: 'One workflow',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: workflow } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/workflows/:id',
    summary: 'Change a workflow; what is not named stays. Times that passed while it was disabled are over',
    params: idParams,
    body: changeBody,
    responses: { 200: { description: 'As it is now.', schema: workflow } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/workflows/:id',
    summary: 'Delete a workflow; actions that it has made stay where they are',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  run: endpoint({
    method: 'POST',
    path: '/api/workflows/:id/run',
    summary: 'Run a workflow now, whatever its schedule says',
    params: idParams,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It was there already, by its Idempotency-Key.', schema: run },
      201: { description: 'Its targets are frozen; their actions follow.', schema: run },
    },
  }),
  runs: endpoint({
    method: 'GET',
    path: '/api/workflows/:id/runs',
    summary: 'When a workflow ran and how many actions each run made, newest first',
    params: idParams,
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to older ones.', schema: runPage } },
  }),
};
