import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams, reasonBody } from '../values.ts';
import { task, taskDevice, taskDeviceEvents, taskDevicePage, taskPage } from './answers.ts';
import { newTask, taskDeviceQuery, taskQuery } from './requests.ts';

/** Work for many devices, done through their PCs. */
export const tasks = {
  create: endpoint({
    method: 'POST',
    path: '/api/tasks',
    summary: 'Create a task for many devices, worked through by their PCs after earlier tasks',
    body: newTask,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It already existed: same Idempotency-Key.', schema: task },
      201: { description: 'Queued behind earlier tasks.', schema: task },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/tasks',
    summary: 'List tasks, newest first',
    query: taskQuery,
    responses: { 200: { description: 'A page; pass its cursor to get older entries.', schema: taskPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/tasks/:id',
    summary: 'Get a task with exact counts',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: task } },
  }),
  cancel: endpoint({
    method: 'POST',
    path: '/api/tasks/:id/cancel',
    summary: 'Cancel a task: waiting devices are cancelled, running ones asked to stop',
    params: idParams,
    body: reasonBody,
    responses: { 200: { description: 'As it is now.', schema: task } },
  }),
  devices: endpoint({
    method: 'GET',
    path: '/api/tasks/:id/devices',
    summary: 'List the devices of a task and the outcome of each',
    params: idParams,
    query: taskDeviceQuery,
    responses: {
      200: { description: 'A page; pass its cursor to get the next one.', schema: taskDevicePage },
    },
  }),
  device: endpoint({
    method: 'GET',
    path: '/api/task-devices/:id',
    summary: 'Get a device of a task that was handed out',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: taskDevice } },
  }),
  deviceEvents: endpoint({
    method: 'GET',
    path: '/api/task-devices/:id/events',
    summary: 'List the steps of a device of a task, attempt by attempt',
    params: idParams,
    responses: { 200: { description: 'Oldest first.', schema: taskDeviceEvents } },
  }),
};
