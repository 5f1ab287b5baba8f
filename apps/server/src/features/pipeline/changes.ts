import type { Queryable } from '@muster/engine';
import { MusterError } from '../../errors.ts';
import type { Shell } from '../../feature.ts';
import { WHOLE_FLEET } from '../../fleet/index.ts';
import { httpError } from '../../http/errors.ts';
import type { Caller } from '../../tokens/caller.ts';
import { type Assign, type Assigned, MOST_DEVICES } from './assign.ts';
import { createAssignOne } from './assign-one.ts';
import type { Dispatcher } from './dispatch.ts';
import { pipelineError, RefusedAssignment } from './errors.ts';
import { assignmentOf, createMade, type Given, keyOf } from './request.ts';
import type { Templates } from './templates.ts';

/** Changes by operators, each with its line in the audit log. */
interface Tools extends Pick<Shell, 'audit' | 'db' | 'engine' | 'repeats'> {
  readonly assign: Assign;
  readonly dispatcher: Dispatcher;
  readonly templates: Templates;
}

export type Changes = ReturnType<typeof createChanges>;

export function createChanges(tools: Tools) {
  const { assign, audit, engine, repeats, templates } = tools;
  const made = createMade(engine.schema);
  const assignOne = createAssignOne({ ...tools, made });

  /** Of one caller, with any number of devices. */
  async function bulk(
    tx: Queryable,
    { tenantId, name: by }: Caller,
    { idempotencyKey, ...given }: Given & { deviceIds: readonly string[] },
  ): Promise<Assigned & { isNew: boolean }> {
    let assigned: Assigned | undefined;
    const assignment = assignmentOf(given);
    const { id, isNew } = await repeats.once(
      tx,
      { tenantId, key: keyOf(idempotencyKey), said: { assign: assignment } },
      async () => {
        const [answer] = await assign(tx, tenantId, [{ by, assignment }], { waits: true });
        if (answer instanceof MusterError) throw answer;
        assigned = answer as Assigned;
        return assigned.batchId;
      },
    );
    return { ...(assigned ?? (await made(tx, tenantId, id))), isNew };
  }

  return {
    async assignAction(caller: Caller, { deviceId, ...given }: Given & { deviceId: string }) {
      const { batchId, valid, failed } = await assignOne(
        caller,
        Object.assign(given, { deviceIds: [deviceId] }),
      );
      const [refused] = failed;
      if (refused) throw new RefusedAssignment(refused, batchId);
      const [one] = valid;
      return {
        batchId,
        executionId: one?.executionId,
        enrolmentToken: one?.enrolmentToken,
        status: one?.isCompleted ? 'COMPLETED' : 'PENDING',
      };
    },

    async assignBulkAction(caller: Caller, given: Given & { deviceIds: readonly string[] }) {
      if (given.deviceIds.length > MOST_DEVICES)
        throw pipelineError('TOO_MANY_DEVICES', `A bulk assignment takes at most ${MOST_DEVICES} devices.`);
      if (given.deviceIds.length === 0)
        throw httpError('MUSTER_BAD_REQUEST', 'deviceIds must have at least one id.');
      const { deviceIds, ...rest } = given;
      return audit.change(
        caller,
        (tx) => bulk(tx, caller, given),
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
