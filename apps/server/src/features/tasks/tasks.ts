import type { NewTask } from '@muster/contracts';
import { type Engine, type Queryable, whileLocked } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { type Fleet, type Pcs as PlacesOfPcs, unknownPc, WHOLE_FLEET } from '../../fleet/index.ts';
import { httpError } from '../../http/errors.ts';
import { hideFields } from '../../http/hidden-fields.ts';
import { isId } from '../../http/ids.ts';
import { refusePast } from '../../http/past-times.ts';
import type { RunSoon } from '../../http/run-soon.ts';
import type { Repeats } from '../../repeats/repeats.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { Advance } from './advance-tasks.ts';
import { lockAdvance } from './counting.ts';
import { unknownTask } from './errors.ts';
import { notActive } from './reasons.ts';
import type { StoredTargets, TaskQueries, TaskRow } from './task-queries.ts';

/** What operators do with tasks. */
export type Tasks = ReturnType<typeof createTasks>;

const DEFAULT_ATTEMPTS = 3;
/**
 * With up to this many devices, the answer to a new task waits until the task is active; with more it would be slow.
 */
const FEW_DEVICES = 1_000;
const CHUNK = 1_000;

export function createTasks(tools: {
  advance: Advance;
  audit: Audit;
  engine: Engine;
  places: PlacesOfPcs;
  queries: TaskQueries;
  refuseUnknown: Fleet['refuseUnknown'];
  repeats: Repeats;
  soon: RunSoon;
  timeoutSeconds: number;
}) {
  const { advance, audit, engine, places, queries, refuseUnknown, repeats, soon, timeoutSeconds } = tools;
  const { db } = engine;

  async function get(caller: Caller, taskId: string): Promise<TaskRow> {
    const task = isId(taskId) ? await queries.get(db, caller.tenantId, taskId) : null;
    if (!task) throw unknownTask();
    return task;
  }

  return {
    get,

    /** Targets are selected when the task becomes active; for a list, only their existence is checked now. */
    async create(
      caller: Caller,
      body: NewTask,
      key: string | undefined,
    ): Promise<{ task: TaskRow; isNew: boolean }> {
      const { tenantId } = caller;
      const targets: StoredTargets =
        'deviceIds' in body.targets ? { deviceIds: [...new Set(body.targets.deviceIds)] } : body.targets;
      const insert = async (tx: Queryable) => {
        await refusePast(engine.now(), { deadline: body.deadline });
        if ('pcIds' in targets) {
          const known = await places.runnersOf(tx, tenantId, targets.pcIds);
          const unknown = targets.pcIds.filter((pcId) => !known.has(pcId));
          if (unknown.length > 0) throw unknownPc([...new Set(unknown)]);
        }
        if ('deviceIds' in targets) await refuseUnknown(tx, tenantId, targets.deviceIds);
        return queries.insert(tx, {
          tenantId,
          name: body.name,
          kind: body.kind,
          payload: body.payload ?? {},
          targets,
          total: 'deviceIds' in targets ? targets.deviceIds.length : null,
          maxAttempts: body.maxAttempts ?? DEFAULT_ATTEMPTS,
          timeoutSeconds: body.timeoutSeconds ?? timeoutSeconds,
          retryBackoffSeconds: body.retryBackoffSeconds ?? 0,
          deadline: body.deadline === undefined ? null : new Date(body.deadline),
          createdBy: caller.name,
        });
      };
      const { id, isNew } = await audit.change(
        caller,
        (tx) => repeats.once(tx, { tenantId, key, said: body }, () => insert(tx)),
        (made) =>
          made.isNew
            ? {
                act: 'task.create',
                target: `task ${made.id}`,
                detail: { name: body.name, kind: body.kind },
              }
            : null,
        WHOLE_FLEET,
      );
      if (!isNew) return { task: await get(caller, id), isNew };
      if (await queries.hasMoreDevicesThan(db, tenantId, FEW_DEVICES)) soon.soon();
      else await whileLocked(db, (tx) => advance.now(tx, tenantId), WHOLE_FLEET);
      return { task: await get(caller, id), isNew };
    },

    /** Devices not handed out end now, running ones are told. The next task follows when the last of them has ended. */
    async cancel(caller: Caller, taskId: string, reason: string | undefined): Promise<TaskRow> {
      const { tenantId } = caller;
      await get(caller, taskId);
      await audit.change(
        caller,
        async (tx) => {
          await lockAdvance(tx, engine.schema, tenantId);
          const task = (await queries.get(tx, tenantId, taskId)) as TaskRow;
          if (task.endedAt) throw httpError('MUSTER_FINISHED', 'This task has already ended.');
          const activated = task.activatedAt !== null;
          await queries.markCancelled(tx, tenantId, taskId, reason);
          await queries.endWaiting(
            tx,
            { tenantId, taskId, activated },
            { ended: 'cancelled', reason: 'CANCELLED' },
          );
          if (activated) {
            const ids = await queries.openActions(
              tx,
              tenantId,
              taskId,
              'unfinished',
              task.counts.pending + task.counts.running + CHUNK,
            );
            for (let from = 0; from < ids.length; from += CHUNK)
              await engine.cancelMatching(
                tx,
                { tenantId, ids: ids.slice(from, from + CHUNK) },
                reason ?? 'The task was cancelled.',
              );
          } else await queries.markEnded(tx, tenantId, taskId);
        },
        { act: 'task.cancel', target: `task ${taskId}`, detail: { reason } },
        WHOLE_FLEET,
      );
      await whileLocked(db, (tx) => advance.now(tx, tenantId), WHOLE_FLEET);
      return get(caller, taskId);
    },

    show(task: TaskRow) {
      const { waiting, pending, running, completed, failed, cancelled } = task.counts;
      return {
        id: task.taskId,
        name: task.name,
        kind: task.kind,
        payload: hideFields(task.payload).shown,
        targets: task.targets,
        status: task.status,
        reason: task.reason ?? undefined,
        cancelReason: task.cancelReason ?? undefined,
        waitingFor: notActive(task),
        cancelRequested: (task.cancelledAt !== null && task.endedAt === null) || undefined,
        maxAttempts: task.maxAttempts,
        timeoutSeconds: task.timeoutSeconds,
        retryBackoffSeconds: task.retryBackoffSeconds,
        deadline: task.deadline,
        createdAt: task.createdAt,
        createdBy: task.createdBy,
        activatedAt: task.activatedAt,
        endedAt: task.endedAt,
        total: task.total,
        counts: { pending: waiting + pending, running, completed, failed, cancelled },
        unsupplied: waiting,
      };
    },
  };
}
