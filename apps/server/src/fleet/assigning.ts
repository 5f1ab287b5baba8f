import type { DeviceAction } from '@muster/contracts';
import { type Engine, EngineError, type Enqueued, type Queryable } from '@muster/engine';
import { CHECKIN } from './device-token.ts';
import type { MilestoneLog } from './milestone-log.ts';

/**
 * Queues actions in the lanes of devices, with the door's own data and their milestones, in the caller's transaction.
 * Every action is queued, whether the device is there or not: a device in a long poll gets it at once.
 */
/** Refusals by the fleet itself. */
export type Refused = 'DEVICE_DELETED' | 'EXPIRY_OUT_OF_RANGE';

export interface AssignmentSource {
  readonly tenantId: number;
  readonly source: 'assign' | 'workflow' | 'batch';
  /** The batch, or the run of the workflow. */
  readonly sourceId?: string | undefined;
  readonly by: string | null;
  /** For pausing or cancelling a whole batch. */
  readonly tags?: readonly string[] | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The action that this one is an edited copy of. */
  readonly copiedFrom?: string | undefined;
}

export interface DevicePlace {
  readonly deviceId: string;
  readonly laneId: string;
}

export type Assigning = ReturnType<typeof createAssigning>;

export function createAssigning(engine: Engine, log: MilestoneLog) {
  /**
   * Data that the engine does not store is part of the request too: a repeat with other data is a different request.
   */
  async function refuseOther(
    client: Queryable,
    tenantId: number,
    answers: (Enqueued | EngineError)[],
    said: { moreDays: number; ack: string | null },
  ): Promise<void> {
    const repeated = answers.flatMap((answer) =>
      answer instanceof EngineError || answer.outcome === 'created' ? [] : [answer.id],
    );
    if (repeated.length === 0) return;
    const known = await log.saidOf(client, tenantId, repeated);
    answers.forEach((answer, n) => {
      const before = answer instanceof EngineError ? undefined : known.get(answer.id);
      if (before && (before.moreDays !== said.moreDays || before.ack !== said.ack))
        answers[n] = new EngineError(
          'MUSTER_IDEMPOTENCY_MISMATCH',
          'This idempotency key was already used for another action.',
        );
    });
  }

  return {
    /** The same action for many devices; each has its own answer or error, and none fails another. */
    async assign(
      client: Queryable,
      from: AssignmentSource,
      devices: readonly DevicePlace[],
      action: DeviceAction,
    ): Promise<(Enqueued | EngineError | Refused)[]> {
      const { tenantId } = from;
      const moreDays = action.moreDays ?? 0;
      const ids = devices.map(({ deviceId }) => deviceId);
      const kept = await log.lock(client, tenantId, ids, moreDays !== 0);
      const beyond =
        moreDays === 0 ? new Set() : await log.beyondTelling(client, tenantId, [...kept], moreDays);
      const refusal = (deviceId: string): Refused | null =>
        !kept.has(deviceId) ? 'DEVICE_DELETED' : beyond.has(deviceId) ? 'EXPIRY_OUT_OF_RANGE' : null;
      // a repeat gets the first answer, even if the assignment would be refused now; it creates nothing
      const isRepeat = (await engine.idOfKey(client, tenantId, from.idempotencyKey)) !== null;
      const there = devices.filter(({ deviceId }) => isRepeat || refusal(deviceId) === null);
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
        copiedFrom: from.copiedFrom,
        tags: from.tags,
        createdBy: from.by ?? undefined,
      };
      const answers = await engine.enqueueMany(
        client,
        there.map(({ laneId }) => ({ ...policy, laneId })),
      );
      const created = answers.flatMap((answer, n) =>
        answer instanceof EngineError || answer.outcome !== 'created'
          ? []
          : [
              {
                deviceId: (there[n] as DevicePlace).deviceId,
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
      if (from.idempotencyKey !== undefined)
        await refuseOther(client, tenantId, answers, { moreDays, ack: action.ack ?? null });
      const next = answers.values();
      return devices.map(({ deviceId }) => {
        const refused = refusal(deviceId);
        if (refused && !isRepeat) return refused;
        const answer = next.next().value as Enqueued | EngineError;
        return refused && !(answer instanceof EngineError) && answer.outcome === 'created' ? refused : answer;
      });
    },
  };
}

function date(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
