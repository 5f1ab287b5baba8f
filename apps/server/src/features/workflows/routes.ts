import { api, type DeviceAction, type Targets, type WorkflowChange } from '@muster/contracts';
import type { Engine, Queryable } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { type Fleet, type TargetSets, WHOLE_FLEET } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { hidePayload, withHidden } from '../../http/hidden-fields.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { isId } from '../../http/ids.ts';
import { readPage } from '../../http/page.ts';
import { refusePast } from '../../http/past-times.ts';
import { readBack } from '../../http/read-back.ts';
import { created, gone } from '../../http/replies.ts';
import type { RunSoon } from '../../http/run-soon.ts';
import type { Repeats } from '../../repeats/repeats.ts';
import { beginRun } from './duties.ts';
import { workflowError } from './errors.ts';
import type { RunRow, WorkflowQueries, WorkflowRow } from './queries.ts';
import { firstTime } from './schedule.ts';
import { scheduleText } from './schedule-text.ts';

export function workflowRoutes(tools: {
  audit: Audit;
  engine: Engine;
  queries: WorkflowQueries;
  refuseUnknown: Fleet['refuseUnknown'];
  repeats: Repeats;
  sets: TargetSets;
  supply: RunSoon;
}): Route[] {
  const { audit, engine, queries, refuseUnknown, repeats, sets, supply } = tools;
  const { db } = engine;

  async function known(client: Queryable, tenantId: number, id: string, lock: '' | 'for update' = '') {
    const row = isId(id) ? await queries.get(client, tenantId, id, lock) : null;
    if (!row) throw workflowError('MUSTER_UNKNOWN_WORKFLOW', 'There is no workflow with this id.');
    return row;
  }

  async function refuseUnknownTargets(tx: Queryable, tenantId: number, targets: Targets | undefined) {
    if (targets && 'deviceIds' in targets) await refuseUnknown(tx, tenantId, targets.deviceIds);
  }

  async function wireRuns(tenantId: number, rows: readonly RunRow[], client: Queryable = db) {
    const counts = await sets.counts(
      client,
      tenantId,
      rows.flatMap(({ setId }) => setId ?? []),
    );
    return rows.map((row) => {
      const of = row.setId === null ? undefined : counts.get(row.setId);
      const total = Object.values(of ?? {}).reduce((sum, count) => sum + count, 0);
      return {
        id: row.runId,
        trigger: row.trigger,
        scheduledAt: row.scheduledAt,
        startedAt: row.startedAt,
        startedBy: row.startedBy,
        status: statusOf(row),
        targets: total,
        actions: total - (of?.waiting ?? 0) - (of?.refused ?? 0),
        waiting: (row.cancelledAt ? 0 : (of?.waiting ?? 0)) + (of?.pending ?? 0),
        sent: of?.sent ?? 0,
        done: of?.done ?? 0,
        failed: (of?.failed ?? 0) + (of?.expired ?? 0),
        cancelled: of?.cancelled ?? 0,
        refused: of?.refused ?? 0,
      };
    });
  }

  async function shown(tenantId: number, rows: readonly WorkflowRow[]) {
    const ids = rows.map(({ workflowId }) => workflowId);
    const last = await queries.lastRuns(db, tenantId, ids);
    const runs = await wireRuns(tenantId, last);
    const ofWorkflow = new Map(last.map(({ workflowId }, n) => [workflowId, runs[n]]));
    return rows.map((row) => wire(row, ofWorkflow.get(row.workflowId) ?? null));
  }

  return [
    defineRoute(api.workflows.create, {
      access: operators('operator'),
      async handler({ body, caller, reply }) {
        const row = await audit.change(
          caller,
          async (tx) => {
            const now = engine.now();
            await refusePast(now, timesOf(body.action));
            await refuseUnknownTargets(tx, caller.tenantId, body.targets);
            const given = {
              tenantId: caller.tenantId,
              ...body,
              enabled: body.enabled ?? true,
              catchUp: body.catchUp ?? ('none' as const),
              nextAt: firstTime(body.schedule, now),
              createdAt: now,
              createdBy: caller.name,
            };
            const workflowId = await queries.insert(tx, given);
            return { ...given, workflowId };
          },
          ({ workflowId }) => ({
            act: 'workflow.create',
            target: `workflow ${workflowId}`,
            detail: { name: body.name, schedule: body.schedule, kind: body.action.kind },
          }),
        );
        created(reply);
        return wire(row, null);
      },
    }),

    defineRoute(api.workflows.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => queries.list(db, caller.tenantId, { after: query.cursor, limit }),
          (row) => row.workflowId,
        );
        return { workflows: await shown(caller.tenantId, items), cursor };
      },
    }),

    defineRoute(api.workflows.get, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const row = await known(db, caller.tenantId, params.id);
        return (await shown(caller.tenantId, [row]))[0];
      },
    }),

    defineRoute(api.workflows.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        const changed = await audit.change(
          caller,
          async (tx): Promise<WorkflowRow> => {
            const before = await known(tx, caller.tenantId, params.id, 'for update');
            const now = engine.now();
            await refusePast(now, timesOf(body.action));
            await refuseUnknownTargets(tx, caller.tenantId, body.targets);
            const row = { ...before, ...body, action: editedAction(before, body.action) } as WorkflowRow;
            const isNew = body.schedule !== undefined || (row.enabled && !before.enabled);
            const isPast =
              'at' in row.schedule && body.schedule === undefined && new Date(row.schedule.at) <= now;
            const nextAt = !isNew ? before.nextAt : isPast ? null : firstTime(row.schedule, now);
            await queries.update(tx, { ...row, nextAt });
            return { ...row, nextAt };
          },
          { act: 'workflow.update', target: `workflow ${params.id}`, detail: auditedChange(body) },
        );
        return readBack(`workflow ${params.id}`, async () => (await shown(caller.tenantId, [changed]))[0]);
      },
    }),

    defineRoute(api.workflows.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await audit.change(
          caller,
          async (tx) => {
            await known(tx, caller.tenantId, params.id, 'for update');
            await queries.remove(tx, caller.tenantId, params.id, engine.now());
          },
          { act: 'workflow.delete', target: `workflow ${params.id}` },
        );
        return gone(reply);
      },
    }),

    defineRoute(api.workflows.run, {
      access: operators('operator'),
      async handler({ caller, params, reply, request }) {
        const { tenantId } = caller;
        const key = readIdempotencyKey(request);
        const { id: runId, isNew } = await audit.change(
          caller,
          (tx) =>
            repeats.once(tx, { tenantId, key, said: params }, async () => {
              const row = await known(tx, tenantId, params.id);
              const now = engine.now();
              const id = await beginRun(tx, tools, row, {
                trigger: 'manual',
                scheduledAt: now,
                startedAt: now,
                startedBy: caller.name,
              });
              return id as string;
            }),
          ({ isNew }) => (isNew ? { act: 'workflow.run', target: `workflow ${params.id}` } : null),
          WHOLE_FLEET,
        );
        supply.soon();
        if (isNew) created(reply);
        return readBack(`run ${runId}`, async () => {
          const row = await queries.getRun(db, tenantId, runId);
          return (await wireRuns(tenantId, row ? [row] : []))[0];
        });
      },
    }),

    defineRoute(api.workflows.runs, {
      access: operators('viewer'),
      async handler({ caller, params, query }) {
        const { tenantId } = caller;
        await known(db, tenantId, params.id);
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => queries.listRuns(db, tenantId, params.id, { before: query.cursor, limit }),
          (row) => row.runId,
        );
        return { runs: await wireRuns(tenantId, items), cursor };
      },
    }),

    defineRoute(api.workflows.cancelRun, {
      access: operators('operator'),
      async handler({ caller, params }) {
        const { tenantId } = caller;
        const run = await audit.change(
          caller,
          async (tx) => {
            // a deleted workflow can have a run in progress
            const row = isId(params.runId)
              ? await queries.getRun(tx, tenantId, params.runId, 'for update')
              : null;
            if (row?.workflowId !== params.id)
              throw workflowError('MUSTER_UNKNOWN_RUN', 'The workflow has no run with this id.');
            if (row.setId === null)
              throw httpError('MUSTER_FINISHED', 'This run was missed: it has no actions.');
            if (row.cancelledAt) return { row, isNew: false };
            // otherwise a run that reached all its devices would be shown as cancelled for good
            const [shown] = await wireRuns(tenantId, [row], tx);
            if (shown?.waiting === 0) throw httpError('MUSTER_FINISHED', 'No action of this run is waiting.');
            const cancelledAt = engine.now();
            await queries.cancelRun(tx, row, cancelledAt);
            return { row: { ...row, cancelledAt }, isNew: true };
          },
          ({ isNew }) =>
            isNew
              ? { act: 'workflow.cancel-run', target: `workflow ${params.id}`, detail: { run: params.runId } }
              : null,
        );
        supply.soon();
        return readBack(`run ${params.runId}`, async () => (await wireRuns(tenantId, [run.row]))[0]);
      },
    }),
  ];
}

function statusOf({ cancelledAt, setId, suppliedAt }: RunRow) {
  if (setId === null) return 'missed';
  if (cancelledAt) return 'cancelled';
  return suppliedAt ? 'supplied' : 'supplying';
}

function timesOf(action: DeviceAction | undefined) {
  return { 'action.deliverBy': action?.deliverBy, 'action.deadline': action?.deadline };
}

/** A field that says hidden keeps its value: that is how it was shown to the caller. */
function editedAction({ action }: WorkflowRow, edited: DeviceAction | undefined): DeviceAction {
  if (edited?.payload === undefined) return edited ?? action;
  return { ...edited, payload: withHidden(edited.payload, action.payload) };
}

const auditedChange = (body: WorkflowChange) =>
  body.action === undefined ? body : { ...body, action: hidePayload(body.action) };

function wire(row: WorkflowRow, lastRun: object | null) {
  return {
    id: row.workflowId,
    name: row.name,
    schedule: row.schedule,
    scheduleText: scheduleText(row.schedule),
    targets: row.targets,
    action: hidePayload(row.action),
    enabled: row.enabled,
    catchUp: row.catchUp,
    nextAt: row.enabled ? row.nextAt : null,
    lastRun,
    createdAt: row.createdAt,
    createdBy: row.createdBy,
  };
}
