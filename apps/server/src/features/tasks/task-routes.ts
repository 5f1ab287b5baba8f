import { api } from '@muster/contracts';
import type { TaskStatus } from '@muster/contracts/words';
import type { Database } from '@muster/engine';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { readPage } from '../../http/page.ts';
import { created } from '../../http/replies.ts';
import type { TaskDevices } from './task-devices.ts';
import type { TaskQueries } from './task-queries.ts';
import type { Tasks } from './tasks.ts';

const LARGEST_BODY = 16 * 1_048_576;

/** Words of older systems; `retrying` there is running here. */
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
    defineRoute(api.tasks.create, {
      access: operators('operator'),
      bodyLimit: LARGEST_BODY,
      async handler({ body, caller, reply, request }) {
        const { task, isNew } = await tasks.create(caller, body, readIdempotencyKey(request));
        if (isNew) created(reply);
        return tasks.show(task);
      },
    }),

    defineRoute(api.tasks.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const status = query.status && (STATUS_OF_WORD[query.status] ?? (query.status as TaskStatus));
        const before = query.cursor ?? null;
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => queries.list(db, caller.tenantId, { status: status ?? null, before, limit }),
          (row) => row.taskId,
        );
        return { tasks: items.map(tasks.show), cursor };
      },
    }),

    defineRoute(api.tasks.get, {
      access: operators('viewer'),
      handler: async ({ caller, params }) => tasks.show(await tasks.get(caller, params.id)),
    }),

    defineRoute(api.tasks.cancel, {
      access: operators('operator'),
      handler: async ({ body, caller, params }) =>
        tasks.show(await tasks.cancel(caller, params.id, body.reason)),
    }),

    defineRoute(api.tasks.devices, {
      access: operators('viewer'),
      async handler({ caller, params, query }) {
        const task = await tasks.get(caller, params.id);
        const { status: word, cursor: after = '0' } = query;
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => taskDevices.list(task, { word, after, limit }),
          (row) => row.deviceId,
        );
        return { taskDevices: items, cursor };
      },
    }),

    defineRoute(api.tasks.device, {
      access: operators('viewer'),
      handler: ({ caller, params }) => taskDevices.get(caller.tenantId, params.id),
    }),

    defineRoute(api.tasks.deviceEvents, {
      access: operators('viewer'),
      handler: async ({ caller, params }) => ({
        events: await taskDevices.events(caller.tenantId, params.id),
      }),
    }),
  ];
}
