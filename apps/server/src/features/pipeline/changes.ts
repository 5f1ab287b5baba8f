import type { Queryable } from '@muster/engine';
import type { Shell } from '../../feature.ts';
import { WHOLE_FLEET } from '../../fleet/index.ts';
import type { Caller } from '../../tokens/caller.ts';
import { type Assign, type Assigned, type Assignment, MOST_DEVICES } from './assign.ts';
import { pipelineError } from './errors.ts';
import type { Templates } from './templates.ts';

/** What operators change, each with its line in the audit log. */
type Given = Omit<Assignment, 'deviceIds' | 'messageTemplateId' | 'phoneNumber'> & {
  readonly messageTemplateId?: string | null;
  readonly phoneNumber?: string | null;
  readonly idempotencyKey?: string | null;
};

interface Tools extends Pick<Shell, 'audit' | 'engine' | 'repeats'> {
  readonly assign: Assign;
  readonly templates: Templates;
}

export type Changes = ReturnType<typeof createChanges>;

export function createChanges({ assign, audit, engine, repeats, templates }: Tools) {
  const s = engine.schema;

  /** What a batch was answered, except for what is shown once. */
  async function answerOf(tx: Queryable, tenantId: number, batchId: string): Promise<Assigned> {
    const { rows } = await tx.query({
      text: `select t.device_id, t.target, t.error, e.execution_id, e.status from ${s}.batches b
        join ${s}.targets t on t.tenant_id = b.tenant_id and t.set_id = b.set_id
        left join lateral (
          select e.execution_id, e.status from ${s}.executions e
          where e.tenant_id = t.tenant_id and e.action_id = t.action_id and ${s}.sought_by(e.action_id)
          order by e.attempt nulls last limit 1
        ) e on true
        where b.tenant_id = $1 and b.batch_id = $2 order by t.n`,
      values: [tenantId, batchId],
    });
    return {
      batchId,
      valid: rows.flatMap((row) =>
        row.execution_id
          ? [
              {
                ...{ deviceId: row.device_id, executionId: row.execution_id, enrolmentToken: null },
                isCompleted: row.status === 'ACTION_COMPLETED',
              },
            ]
          : [],
      ),
      failed: rows.flatMap((row) =>
        row.error
          ? [{ deviceId: row.device_id ?? row.target, code: row.error, message: 'It was refused.' }]
          : [],
      ),
    };
  }

  async function once(
    tx: Queryable,
    caller: Caller,
    { idempotencyKey, ...given }: Given & { deviceIds: readonly string[] },
    accept: (assigned: Assigned) => void,
  ): Promise<Assigned & { isNew: boolean }> {
    const { tenantId, name: by } = caller;
    let assigned: Assigned | undefined;
    const asked = {
      ...given,
      messageTemplateId: given.messageTemplateId ?? null,
      phoneNumber: given.phoneNumber ?? null,
    };
    const { id, isNew } = await repeats.once(
      tx,
      { tenantId, key: idempotencyKey ?? undefined, said: { assign: asked } },
      async () => {
        assigned = await assign(tx, { tenantId, by }, asked);
        accept(assigned);
        return assigned.batchId;
      },
    );
    return { ...(assigned ?? (await answerOf(tx, tenantId, id))), isNew };
  }

  return {
    async assignAction(caller: Caller, { deviceId, ...given }: Given & { deviceId: string }) {
      const { batchId, valid } = await audit.change(
        caller,
        (tx) =>
          once(tx, caller, { ...given, deviceIds: [deviceId] }, ({ failed: [refused] }) => {
            // nothing is kept of it: whoever asks for one device is told at once
            if (refused) throw pipelineError(refused.code as 'DEVICE_BUSY', refused.message);
          }),
        ({ isNew, batchId }) =>
          isNew
            ? { act: 'pipeline.assign', target: `device ${deviceId}`, detail: { ...given, batchId } }
            : null,
      );
      const [one] = valid;
      return {
        ...{ batchId, executionId: one?.executionId, enrolmentToken: one?.enrolmentToken },
        status: one?.isCompleted ? 'COMPLETED' : 'PENDING',
      };
    },

    async assignBulkAction(caller: Caller, given: Given & { deviceIds: readonly string[] }) {
      if (given.deviceIds.length > MOST_DEVICES)
        throw pipelineError('TOO_MANY_DEVICES', `A bulk takes ${MOST_DEVICES} devices at most.`);
      const { deviceIds, ...rest } = given;
      return audit.change(
        caller,
        (tx) => once(tx, caller, given, () => {}),
        ({ isNew, batchId }) =>
          isNew
            ? {
                act: 'pipeline.assign',
                target: `batch ${batchId}`,
                detail: { ...rest, devices: deviceIds.length },
              }
            : null,
        WHOLE_FLEET,
      );
    },

    createTemplate: (caller: Caller, given: { name: string; content: string }) =>
      audit.change(
        caller,
        (tx) => templates.create(tx, caller.tenantId, given),
        ({ id }) => ({ act: 'template.create', target: `template ${id}`, detail: given }),
      ),

    updateTemplate: (
      caller: Caller,
      id: string,
      given: { name?: string | null; content?: string | null; isActive?: boolean },
    ) =>
      audit.change(caller, (tx) => templates.update(tx, caller.tenantId, id, given), {
        ...{ act: 'template.update' as const, target: `template ${id}`, detail: given },
      }),
  };
}
