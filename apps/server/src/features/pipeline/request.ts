import { encodeJson, type Queryable } from '@muster/engine';
import { httpError } from '../../http/errors.ts';
import type { Assigned, Assignment } from './assign.ts';
import { checkCarried } from './carried-text.ts';
import { refused } from './transitions.ts';

/** An assignment as it comes over GraphQL. */
export type Given = Omit<Assignment, 'deviceIds' | 'messageTemplateId' | 'phoneNumber'> & {
  readonly messageTemplateId?: string | null;
  readonly phoneNumber?: string | null;
  readonly idempotencyKey?: string | null;
};

const LONGEST_NUMBER = 100;
const LONGEST_KEY = 255;

/** Text that the database cannot store is refused here, so it fails no other caller's request. */
export function assignmentOf(given: Given & { readonly deviceIds: readonly string[] }): Assignment {
  const { actionId, deviceIds, messageTemplateId = null, offline, phoneNumber = null } = given;
  if (phoneNumber !== null && phoneNumber.length > LONGEST_NUMBER)
    throw httpError('MUSTER_BAD_REQUEST', `phoneNumber must have at most ${LONGEST_NUMBER} characters.`);
  if (phoneNumber !== null) checkCarried('phoneNumber', phoneNumber);
  const assignment = {
    actionId,
    deviceIds,
    messageTemplateId,
    offline,
    phoneNumber,
    priority: given.priority,
    whenBusy: given.whenBusy,
  };
  encodeJson(assignment, 'assignment');
  return assignment;
}

/** As stored: apart from the keys of other routes. */
export function keyOf(idempotencyKey: string | null | undefined): string | undefined {
  if (idempotencyKey === null || idempotencyKey === undefined) return undefined;
  if (!/^[\x20-\x7e]+$/.test(idempotencyKey) || idempotencyKey.length > LONGEST_KEY)
    throw httpError(
      'MUSTER_BAD_REQUEST',
      `idempotencyKey must have from 1 to ${LONGEST_KEY} ASCII characters.`,
    );
  return `assign ${idempotencyKey}`;
}

export type MadeBefore = ReturnType<typeof createMade>;

/** The stored answer of a batch, without what is shown once. */
export function createMade(s: string) {
  return async (tx: Queryable, tenantId: number, batchId: string): Promise<Assigned> => {
    const { rows } = await tx.query({
      text: `select t.device_id, t.target, t.error, t.error_message, e.execution_id, e.status from ${s}.batches b
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
          ? [
              {
                ...{ deviceId: row.device_id ?? row.target, ...refused(row.error) },
                ...(row.error_message === null ? {} : { message: row.error_message }),
              },
            ]
          : [],
      ),
    };
  };
}
