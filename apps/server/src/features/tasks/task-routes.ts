import type { Database } from '@muster/engine';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { created } from '../../http/replies.ts';
import { task, taskDevice, taskDeviceEvents, taskDevicePage, taskPage } from './answers.ts';
import { cancelBody, idParams, newTask, taskDeviceQuery, taskQuery } from './schemas.ts';
import type { TaskDevices } from './task-devices.ts';
import type { TaskQueries } from './task-queries.ts';
import type { Tasks } from './tasks.ts';
import type { TaskStatus } from './wire.ts';

const LARGEST_BODY = 16 * 1_048_576;
const DEFAULT_PAGE = 100;

/** Words of older systems; what was retrying there is running here. */
const STATUS_OF_WORD: Record<string, TaskStatus> = {
  completed: 'success',
  claimed: 'running',
  retrying: 'running',
};

export function taskRoutes(tools: {
  db: Database;
  queries: TaskQueries;
  taskDevices: TaskDevices;
  tasks: Tasks;
}): Route[] {
  const { db, queries, taskDevices, tasks } = tools;

  return [
    defineRoute({
      method: 'POST',
      path: '/api/tasks',
      access: operators('operator'),
      summary: 'Something to be done by many devices, through their PCs; it waits for the tasks before it',
      bodyLimit: LARGEST_BODY,
      body: newTask,
      responses: { 201: { description: 'It is in the line.', schema: task } },
      async handler({ body, caller, reply }) {
        const made = await tasks.create(caller, body);
        created(reply);
        return tasks.show(made);
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/tasks',
      access: operators('viewer'),
      summary: 'List tasks, newest first',
      query: taskQuery,
      responses: { 200: { description: 'A page; the cursor leads to older ones.', schema: taskPage } },
      async handler({ caller, query }) {
        const limit = query.limit ?? DEFAULT_PAGE;
        const status = query.status && (STATUS_OF_WORD[query.status] ?? (query.status as TaskStatus));
        const found = await queries.list(db, caller.tenantId, {
          status: status ?? null,
          before: query.cursor ?? null,
          limit: limit + 1,
        });
        const page = found.slice(0, limit);
        return {
          tasks: page.map(tasks.show),
          cursor: found.length > limit ? (page.at(-1)?.taskId ?? null) : null,
        };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/tasks/:id',
      access: operators('viewer'),
      summary: 'One task, with counts that are exact at this moment',
      params: idParams,
      responses: { 200: { description: 'As it is now.', schema: task } },
      handler: async ({ caller, params }) => tasks.show(await tasks.get(caller, params.id)),
    }),

    defineRoute({
      method: 'POST',
      path: '/api/tasks/:id/cancel',
      access: operators('operator'),
      summary: 'End a task: what was not handed out is cancelled, what runs is told',
      params: idParams,
      body: cancelBody,
      responses: { 200: { description: 'As it is now.', schema: task } },
      handler: async ({ body, caller, params }) =>
        tasks.show(await tasks.cancel(caller, params.id, body.reason)),
    }),

    defineRoute({
      method: 'GET',
      path: '/api/tasks/:id/devices',
      access: operators('viewer'),
      summary: 'The devices of a task and what became of each',
      params: idParams,
      query: taskDeviceQuery,
      responses: {
        200: { description: 'A page; the cursor leads to the next one.', schema: taskDevicePage },
      },
      async handler({ caller, params, query }) {
        const { tenantId, taskId } = await tasks.get(caller, params.id);
        const limit = query.limit ?? DEFAULT_PAGE;
        const found = await taskDevices.list(tenantId, taskId, {
          word: query.status,
          after: query.cursor ?? '0',
          limit: limit + 1,
        });
        const page = found.slice(0, limit);
        return {
          taskDevices: page,
          cursor: found.length > limit ? (page.at(-1)?.deviceId ?? null) : null,
        };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/task-devices/:id',
      access: operators('viewer'),
      summary: 'One device of a task that was handed out',
      params: idParams,
      responses: { 200: { description: 'As it is now.', schema: taskDevice } },
      handler: ({ caller, params }) => taskDevices.get(caller.tenantId, params.id),
    }),

    defineRoute({
      method: 'GET',
      path: '/api/task-devices/:id/events',
      access: operators('viewer'),
      summary: 'What happened to a device of a task, step by step, attempt by attempt',
      params: idParams,
      responses: { 200: { description: 'Oldest first.', schema: taskDeviceEvents } },
      handler: async ({ caller, params }) => ({
        events: await taskDevices.events(caller.tenantId, params.id),
      }),
    }),
  ];
}
