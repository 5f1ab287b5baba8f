import type { ActionType } from '@muster/contracts/words';
import { type Engine, EngineError, type Queryable } from '@muster/engine';
import type { Fleet } from '../../fleet/index.ts';
import { isId } from '../../http/ids.ts';
import { PIPELINE } from './channel.ts';
import type { DeviceQueries, PipelineDevice } from './device-queries.ts';
import type { Dispatcher } from './dispatch.ts';
import { type PipelineCode, pipelineError } from './errors.ts';
import type { ExecutionQueries } from './execution-queries.ts';
import type { Template, Templates } from './templates.ts';
import { kindOf, refusalOf, typeOf } from './transitions.ts';

/** What an operator asks for. */
export interface Assignment {
  readonly deviceIds: readonly string[];
  readonly actionId: string;
  readonly messageTemplateId: string | null;
  readonly phoneNumber: string | null;
  readonly offline: 'QUEUE' | 'FAIL';
  readonly whenBusy: 'REJECT' | 'QUEUE';
  readonly priority: 'URGENT' | 'NORMAL';
}

export interface Assigned {
  readonly batchId: string;
  readonly valid: readonly {
    readonly deviceId: string;
    readonly executionId: string;
    readonly isCompleted: boolean;
    readonly enrolmentToken: string | null;
  }[];
  readonly failed: readonly { readonly deviceId: string; readonly code: string; readonly message: string }[];
}

interface Tools {
  readonly devices: DeviceQueries;
  readonly dispatcher: Dispatcher;
  readonly engine: Engine;
  readonly executions: ExecutionQueries;
  readonly fleet: Fleet;
  readonly templates: Templates;
}

/** As in the seed: an execution fails, the action has three. */
const ATTEMPTS = 3;
export const MOST_DEVICES = 10_000;

const SENTENCES: Partial<Record<PipelineCode, string>> = {
  DEVICE_NOT_FOUND: 'There is no device with this id.',
  DEVICE_BUSY: 'The device is busy.',
  INVALID_TRANSITION: 'The action is not allowed in the policy that the device will have by then.',
  NO_UNLOCK_TOKEN: 'The device has given no token by which it could be unlocked.',
};
const sentenceOf = (code: string) =>
  SENTENCES[code as PipelineCode] ?? 'The action could not be put into the lane of the device.';

export type Assign = ReturnType<typeof createAssign>;

/**
 * The resolver's work, for one device or for ten thousand: who may have it now, the batch with a row for everybody who was asked
 * for, the actions in their lanes with their first executions, and the triggers. Set-based, in the caller's transaction. The devices
 * are locked first: of two who assign to one at the same moment the second sees what the first has done.
 */
export function createAssign(tools: Tools) {
  const { devices, dispatcher, engine, executions, fleet, templates } = tools;

  async function templateOf(
    tx: Queryable,
    tenantId: number,
    type: ActionType,
    id: string | null,
  ): Promise<Template | null> {
    if (id === null && type.needsTemplate)
      throw pipelineError('TEMPLATE_REQUIRED', `${type.name} needs a message template.`);
    if (id === null) return null;
    const template = await templates.get(tx, tenantId, id);
    if (!template.isActive) throw pipelineError('TEMPLATE_INACTIVE', 'The message template is not active.');
    return template;
  }

  return async (
    tx: Queryable,
    { tenantId, by }: { tenantId: number; by: string },
    asked: Assignment,
  ): Promise<Assigned> => {
    const type = typeOf(Number(asked.actionId));
    if (!type) throw pipelineError('ACTION_NOT_FOUND', 'There is no action type with this number.');
    if (type.way === 'device')
      throw pipelineError('NOT_ASSIGNABLE', `Devices do ${type.name} of their own accord.`);
    const template = await templateOf(tx, tenantId, type, asked.messageTemplateId);
    const payload = {
      actionId: type.id,
      ...(template ? { messageContent: template.content } : {}),
      ...(asked.phoneNumber === null ? {} : { phoneNumber: asked.phoneNumber }),
    };

    const ids = [...new Set(asked.deviceIds)];
    const locked = await devices.lock(tx, tenantId, ids.filter(isId));
    const known = new Map(locked.map((device) => [device.deviceId, device]));
    const standings = await devices.standingsOf(tx, tenantId, locked);
    const refused = new Map<string, string>();
    for (const id of ids) {
      const code = refusalOf(type, standings.get(id), asked.whenBusy);
      if (code) refused.set(id, code);
    }
    const good = ids.filter((id) => !refused.has(id)).map((id) => known.get(id) as PipelineDevice);

    const kind = kindOf(type);
    const { batchId, setId } = await fleet.doorBatches.open(tx, {
      ...{ tenantId, door: PIPELINE, by, name: type.name, action: { kind, payload } },
    });
    const answers = await engine.enqueueMany(
      tx,
      good.map(({ laneId }) => ({
        ...{ tenantId, laneId, channel: PIPELINE, kind, payload, createdBy: by, tags: [`batch:${batchId}`] },
        ...{ priority: asked.priority === 'URGENT' ? ('urgent' as const) : ('normal' as const) },
        // Nothing is dispatched by the clock: what is tried again waits for its device at the head of the lane.
        ...{ maxAttempts: ATTEMPTS, backoffMs: 0, headOfLine: 'hold' as const },
        ...{ onLeaseEnd: asked.offline === 'FAIL' ? ('fail' as const) : ('retry' as const) },
      })),
    );
    const queued: { deviceId: string; actionId: string }[] = [];
    answers.forEach((answer, n) => {
      const { deviceId } = good[n] as PipelineDevice;
      if (answer instanceof EngineError) refused.set(deviceId, answer.code.replace('MUSTER_', ''));
      else queued.push({ deviceId, actionId: answer.id });
    });
    const actionOf = new Map(queued.map(({ deviceId, actionId }) => [deviceId, actionId]));
    await fleet.doorBatches.fill(
      tx,
      { tenantId, setId },
      ids.map((id) => ({
        deviceId: known.has(id) ? id : null,
        target: known.has(id) ? null : id.slice(0, 200),
        error: refused.get(id) ?? null,
        actionId: actionOf.get(id) ?? null,
      })),
    );
    const failed = [...refused].map(([deviceId, code]) => ({ deviceId, code, message: sentenceOf(code) }));
    if (queued.length === 0) return { batchId, valid: [], failed };

    const made = await executions.insert(
      tx,
      tenantId,
      queued.map((one) => ({
        ...{ ...one, typeId: type.id, batchId, isUrgent: asked.priority === 'URGENT' },
        ...{ offline: asked.offline, templateId: template?.id ?? null },
      })),
    );
    await fleet.noteAssigned(
      tx,
      tenantId,
      queued.map((one) => ({
        ...{ ...one, source: PIPELINE, sourceId: batchId, by, moreDays: 0, ack: null },
      })),
    );
    // what nobody but us takes part in is done at once, unless something stands before it
    const done =
      type.way === 'database'
        ? await dispatcher.dispatch(
            tx,
            tenantId,
            queued.map(({ deviceId }) => deviceId),
            by,
          )
        : null;
    await dispatcher.trigger(
      tx,
      tenantId,
      queued.flatMap(({ deviceId, actionId }) =>
        done?.completed.has(actionId) ? [] : [{ device_id: deviceId, action_id: actionId }],
      ),
    );
    const valid = queued.map(({ deviceId, actionId }, n) => ({
      deviceId,
      executionId: (made[n] as { executionId: string }).executionId,
      isCompleted: done?.completed.has(actionId) ?? false,
      enrolmentToken: done?.enrolmentTokens.get(deviceId) ?? null,
    }));
    return { batchId, valid, failed };
  };
}
