import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, reasonBody } from '../values.ts';
import { task, taskDevice, taskDeviceEvents, taskDevicePage, taskPage } from './answers.ts';
import { newTask, taskDeviceQuery, taskQuery } from './requests.ts';

/** What is to be done by many devices, through their PCs. */
export const tasks = {
  create: endpoint({
    method: 'POST',
    path: '/api/tasks',
    summary: 'Something to be done by many devices, through their PCs; it waits for the tasks before it',
    body: newTask,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It was there already, by its Idempotency-Key.', schema: task },
      201: { description: 'It is in the line.', schema: task },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/tasks',
    summary: 'List tasks, newest first',
    query: taskQuery,
    responses: { 200: { description: 'A page; the cursor leads to older ones.', schema: taskPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/tasks/:id',
    summary: 'One task, with counts that are exact at this moment',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: task } },
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/api/tasks/:id/cancel',
    summary: 'End a task: what was not handed out is cancelled, what runs is told',
    params: idParams,
    body: reasonBody,
    responses: { 200: { description: 'As it is now.', schema: task } },
  }),
  devices: endpoint({
    method: 'GET',
    path: '/api/tasks/:id/devices',
    summary: 'The devices of a task and what became of each',
    params: idParams,
    query: taskDeviceQuery,
    responses: {
      200: { description: 'A page; the cursor leads to the next one.', schema: taskDevicePage },
    },
  }),
  device: endpoint({
    method: 'GET',
    path: '/api/task-devices/:id',
    summary: 'One device of a task that was handed out',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: taskDevice } },
  }),
  deviceEvents: endpoint({
    method: 'GET',
    path: '/api/task-devices/:id/events',
    summary: 'What happened to a device of a task, step by step, attempt by attempt',
    params: idParams,
    responses: { 200: { description: 'Oldest first.', schema: taskDeviceEvents } },
  }),
};
