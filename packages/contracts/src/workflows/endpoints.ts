import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, pageQuery } from '../values.ts';
import { run, runPage, workflow, workflowPage } from './answers.ts';
import { changeBody, workflowBody } from './requests.ts';

const runParams = z.strictObject({ id: z.string(), runId: z.string() });

/** An action for many devices, again and again. */
export const workflows = {
  create: endpoint({
    method: 'POST',
    path: '/api/workflows',
    summary: 'Create a workflow: an action for many devices on a schedule',
    body: workflowBody,
    responses: { 201: { description: 'Created; it runs on schedule.', schema: workflow } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/workflows',
    summary: 'List workflows',
    query: pageQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: workflowPage } },
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
    summary:
      'Update a workflow; omitted fields stay as they are. Runs missed while it was disabled are not made up',
    params: idParams,
    body: changeBody,
    responses: { 200: { description: 'As it is now.', schema: workflow } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/workflows/:id',
    summary: 'Delete a workflow; the actions it has created stay',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  run: endpoint({
    method: 'POST',
    path: '/api/workflows/:id/run',
    summary: 'Run a workflow now, regardless of its schedule',
    params: idParams,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It already existed: same Idempotency-Key.', schema: run },
      201: { description: 'Started with a fixed set of targets; their actions follow.', schema: run },
    },
  }),
  runs: endpoint({
    method: 'GET',
    path: '/api/workflows/:id/runs',
    summary: 'List the runs of a workflow and how many actions each created, newest first',
    params: idParams,
    query: pageQuery,
    responses: { 200: { description: 'A page; pass its cursor to get older entries.', schema: runPage } },
  }),
  cancelRun: endpoint({
    method: 'POST',
    path: '/api/workflows/:id/runs/:runId/cancel',
    summary: 'Cancel a run: nothing more is queued, waiting actions are cancelled, handed-out ones continue',
    params: runParams,
    responses: { 200: { description: 'The run; its waiting actions are cancelled shortly.', schema: run } },
  }),
};
