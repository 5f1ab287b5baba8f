import type { DeviceAction } from '@muster/contracts';
import { type Engine, EngineError, type Enqueued, type Queryable } from '@muster/engine';
import { CHECKIN } from './device-token.ts';
import type { MilestoneLog } from './milestone-log.ts';

/**
 * Puts actions into the lanes of devices, with what the door knows of them beside the engine and with their milestones,
 * in the caller's transaction. Every action is queued, whether the device is there or not: one that waits in a long
 * poll gets it at once.
 */
export interface AssignmentSource {
  readonly tenantId: number;
  readonly source: 'assign' | 'workflow' | 'batch';
  /** The batch, or the run of the workflow. */
  readonly sourceId?: string | undefined;
  readonly by: string | null;
  /** So that all of a batch can be paused or cancelled at once. */
  readonly tags?: readonly string[] | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface DevicePlace {
  readonly deviceId: string;
  readonly laneId: string;
}

export type Assigning = ReturnType<typeof createAssigning>;

export function createAssigning(engine: Engine, log: MilestoneLog) {
  return {
    /** The same action for many devices; each has its own answer or error, and none fails another. */
    async assign(
      client: Queryable,
      from: AssignmentSource,
      devices: readonly DevicePlace[],
      action: DeviceAction,
    ): Promise<(Enqueued | EngineError)[]> {
      const { tenantId } = from;
      const moreDays = action.moreDays ?? 0;
      if (moreDays !== 0)
        await log.lock(
          client,
          tenantId,
          devices.map(({ deviceId }) => deviceId),
        );
      const policy = {
        tenantId,
        channel: CHECKIN,
        kind: action.kind,
        payload: action.payload,
        priority: action.priority,
        notBefore: date(action.notBefore),
        deliverBy: date(action.deliverBy),
        deadline: date(action.deadline),
        maxAttempts: action.maxAttempts,
        headOfLine: action.headOfLine,
        supersede: action.supersede && {
          key: action.supersede.key,
          mode: action.supersede.mode ?? 'replace',
        },
        idempotencyKey: from.idempotencyKey,
        tags: from.tags,
        createdBy: from.by ?? undefined,
      };
      const answers = await engine.enqueueMany(
        client,
        devices.map(({ laneId }) => ({ ...policy, laneId })),
      );
      const created = answers.flatMap((answer, n) =>
        answer instanceof EngineError || answer.outcome !== 'created'
          ? []
          : [
              {
                deviceId: (devices[n] as DevicePlace).deviceId,
                actionId: answer.id,
                source: from.source,
                sourceId: from.sourceId ?? null,
                by: from.by,
                moreDays,
                ack: action.ack ?? null,
              },
            ],
      );
      if (created.length > 0) await log.assigned(client, tenantId, created);
      return answers;
    },
  };
}

function date(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
