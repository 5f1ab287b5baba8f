import type { ActionType } from '@muster/contracts/words';
import { BUSY, type Busy, type Engine, EngineError, type Queryable } from '@muster/engine';
import type { MusterError } from '../../errors.ts';
import type { DoorBatch, Fleet } from '../../fleet/index.ts';
import { httpError } from '../../http/errors.ts';
import { isId } from '../../http/ids.ts';
import { PIPELINE } from './channel.ts';
import type { DeviceQueries, PipelineDevice } from './device-queries.ts';
import type { Dispatcher } from './dispatch.ts';
import { pipelineError } from './errors.ts';
import type { ExecutionQueries } from './execution-queries.ts';
import type { Template, Templates } from './templates.ts';
import { kindOf, REGISTER, type Refusal, refusalOf, typeOf } from './transitions.ts';

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

/** The assignment and its caller. */
export interface Asked {
  readonly by: string;
  readonly assignment: Assignment;
}

export interface Assigned {
  readonly batchId: string;
  readonly valid: readonly {
    readonly deviceId: string;
    readonly executionId: string;
    readonly isCompleted: boolean;
    readonly enrolmentToken: string | null;
  }[];
  readonly failed: readonly ({ readonly deviceId: string } & Refusal)[];
}

interface Tools {
  readonly devices: DeviceQueries;
  readonly dispatcher: Dispatcher;
  readonly engine: Engine;
  readonly executions: ExecutionQueries;
  readonly fleet: Fleet;
  readonly templates: Templates;
}

/** A request in progress. */
interface Plan extends Asked {
  readonly at: number;
  readonly type: ActionType;
  readonly template: Template | null;
  readonly kind: string;
  readonly payload: object;
  readonly deviceIds: readonly string[];
  readonly refused: Map<string, Refusal>;
}

interface Opened extends Plan, DoorBatch {}

interface Queued {
  readonly plan: Opened;
  readonly deviceId: string;
  readonly actionId: string;
}

/** An execution has one attempt, its action three. */
const ATTEMPTS = 3;
export const MOST_DEVICES = 10_000;
/** How much of an invalid id is kept, enough to recognise it. */
const LONGEST_TARGET = 200;

export type Assign = ReturnType<typeof createAssign>;

/**
 * Assigns actions, for one device or ten thousand, for one operator or all who ask at once: checks which devices may
 * have them, stores a batch per request with a row for each requested device, queues the actions with their first
 * executions, and publishes the triggers. Each step is one statement for all requests, in the caller's transaction.
 *
 * The devices are locked first: of two concurrent assignments to one device the second sees the result of the first. So
 * no two requests of one call may name the same device.
 */
export function createAssign(tools: Tools) {
  const { devices, dispatcher, engine, executions, fleet, templates } = tools;

  /** An invalid request is refused as a whole and leaves no record. */
  function planOf(
    { by, assignment }: Asked,
    at: number,
    known: ReadonlyMap<string, Template>,
  ): Plan | MusterError {
    const { actionId, deviceIds, messageTemplateId, phoneNumber } = assignment;
    const type = isId(actionId) ? typeOf(Number(actionId)) : undefined;
    if (!type) return pipelineError('ACTION_NOT_FOUND', 'There is no action type with this number.');
    if (type.way === 'device')
      return pipelineError('NOT_ASSIGNABLE', `${type.name} cannot be assigned; devices do it on their own.`);
    if (messageTemplateId === null && type.needsTemplate)
      return pipelineError('TEMPLATE_REQUIRED', `${type.name} needs a message template.`);
    if (messageTemplateId !== null && !type.needsTemplate)
      return httpError('MUSTER_BAD_REQUEST', `${type.name} takes no message template.`);
    const template = messageTemplateId === null ? null : (known.get(messageTemplateId) ?? undefined);
    if (template === undefined)
      return pipelineError('TEMPLATE_NOT_FOUND', 'There is no message template with this id.');
    if (template && !template.isActive)
      return pipelineError('TEMPLATE_INACTIVE', 'The message template is not active.');
    const payload = {
      actionId: type.id,
      ...(template ? { messageContent: template.content } : {}),
      ...(phoneNumber === null ? {} : { phoneNumber }),
    };
    return {
      by,
      assignment,
      at,
      type,
      template,
      kind: kindOf(type),
      payload,
      deviceIds: [...new Set(deviceIds)],
      refused: new Map(),
    };
  }

  async function open(tx: Queryable, tenantId: number, plans: readonly Plan[]): Promise<Opened[]> {
    const batches = await fleet.doorBatches.open(
      tx,
      tenantId,
      plans.map(({ by, kind, payload, type }) => ({
        door: PIPELINE,
        by,
        name: type.name,
        action: { kind, payload },
      })),
    );
    return plans.map((plan, n) => Object.assign(plan, batches[n] as DoorBatch));
  }

  /** Queues the actions of the devices that were not refused. */
  async function enqueue(
    tx: Queryable,
    tenantId: number,
    given: readonly { plan: Opened; device: PipelineDevice }[],
  ): Promise<Queued[]> {
    const answers = await engine.enqueueMany(
      tx,
      given.map(({ plan: { assignment, batchId, by, kind, payload }, device: { laneId } }) => ({
        tenantId,
        laneId,
        channel: PIPELINE,
        kind,
        payload,
        createdBy: by,
        tags: [`batch:${batchId}`],
        priority: assignment.priority === 'URGENT' ? ('urgent' as const) : ('normal' as const),
        // Nothing is dispatched by the clock: a retry waits for its device at the head of the lane.
        maxAttempts: ATTEMPTS,
        backoffMs: 0,
        headOfLine: 'hold' as const,
        onLeaseEnd: assignment.offline === 'FAIL' ? ('fail' as const) : ('retry' as const),
      })),
    );
    return given.flatMap(({ plan, device: { deviceId } }, n) => {
      const answer = answers[n];
      if (answer && !(answer instanceof EngineError)) return [{ plan, deviceId, actionId: answer.id }];
      const code = answer?.code.replace('MUSTER_', '') ?? 'UNKNOWN_LANE';
      plan.refused.set(deviceId, { code, message: answer?.message ?? 'The device has no lane.' });
      return [];
    });
  }

  /** Actions that the server does alone are done at once, unless others are queued before them. */
  async function doAtOnce(tx: Queryable, tenantId: number, queued: readonly Queued[]) {
    const completed = new Set<string>();
    const tokens = new Map<string, string>();
    const own = queued.filter(({ plan }) => plan.type.way === 'database');
    for (const by of new Set(own.map(({ plan }) => plan.by))) {
      const ofOne = own.filter(({ plan }) => plan.by === by);
      const done = await dispatcher.dispatch(
        tx,
        tenantId,
        ofOne.map(({ deviceId }) => deviceId),
        { by },
      );
      for (const actionId of done.completed) completed.add(actionId);
      for (const { plan, deviceId, actionId } of ofOne) {
        const token = done.enrolmentTokens.get(deviceId);
        if (token && plan.type.id === REGISTER && done.completed.has(actionId)) tokens.set(actionId, token);
      }
    }
    return { completed, tokens };
  }

  /** The executions of the queued actions and their next step, by action id. */
  async function begin(tx: Queryable, tenantId: number, queued: readonly Queued[]) {
    if (queued.length === 0) return new Map<string, Assigned['valid'][number]>();
    const made = await executions.insert(
      tx,
      tenantId,
      queued.map(({ actionId, deviceId, plan: { assignment, batchId, template, type } }) => ({
        actionId,
        deviceId,
        typeId: type.id,
        batchId,
        isUrgent: assignment.priority === 'URGENT',
        offline: assignment.offline,
        templateId: template?.id ?? null,
      })),
    );
    await fleet.noteAssigned(
      tx,
      tenantId,
      queued.map(({ actionId, deviceId, plan: { batchId, by } }) => ({
        actionId,
        deviceId,
        source: PIPELINE,
        sourceId: batchId,
        by,
        moreDays: 0,
        ack: null,
      })),
    );
    const { completed, tokens } = await doAtOnce(tx, tenantId, queued);
    await dispatcher.trigger(
      tx,
      tenantId,
      queued.flatMap(({ deviceId, actionId }) =>
        completed.has(actionId) ? [] : [{ device_id: deviceId, action_id: actionId }],
      ),
    );
    return new Map(
      queued.map(({ deviceId, actionId }, n) => {
        const executionId = (made[n] as { executionId: string }).executionId;
        const isCompleted = completed.has(actionId);
        return [
          actionId,
          { deviceId, executionId, isCompleted, enrolmentToken: tokens.get(actionId) ?? null },
        ];
      }),
    );
  }

  async function lock(tx: Queryable, tenantId: number, deviceIds: readonly string[], waits: boolean) {
    if (!waits) return devices.lockFree(tx, tenantId, deviceIds);
    return { locked: await devices.lock(tx, tenantId, deviceIds), held: new Set<string>() };
  }

  /**
   * One answer per request, in order. With `waits`, a locked device is waited for; without, its request is answered
   * BUSY, and nothing is done for it.
   */
  return async (
    tx: Queryable,
    tenantId: number,
    asked: readonly Asked[],
    { waits }: { waits: boolean },
  ): Promise<(Assigned | MusterError | Busy)[]> => {
    const answers: (Assigned | MusterError | Busy)[] = asked.map(() => BUSY);
    const known = await templates.find(
      tx,
      tenantId,
      asked.flatMap(({ assignment }) => assignment.messageTemplateId ?? []),
    );
    const good: Plan[] = [];
    asked.forEach((one, at) => {
      const plan = planOf(one, at, known);
      if ('refused' in plan) good.push(plan);
      else answers[at] = plan;
    });
    const { locked, held } = await lock(
      tx,
      tenantId,
      good.flatMap(({ deviceIds }) => deviceIds.filter(isId)),
      waits,
    );
    const plans = good.filter(({ deviceIds }) => !deviceIds.some((id) => held.has(id)));
    if (plans.length === 0) return answers;

    const deviceOf = new Map(locked.map((device) => [device.deviceId, device]));
    const standings = await devices.standingsOf(tx, tenantId, locked);
    for (const { assignment, deviceIds, refused, type } of plans)
      for (const id of deviceIds) {
        const refusal = refusalOf(type, standings.get(id), assignment.whenBusy);
        if (refusal) refused.set(id, refusal);
      }
    const opened = await open(tx, tenantId, plans);
    const queued = await enqueue(
      tx,
      tenantId,
      opened.flatMap((plan) =>
        plan.deviceIds.flatMap((id) => {
          const device = plan.refused.has(id) ? undefined : deviceOf.get(id);
          return device ? [{ plan, device }] : [];
        }),
      ),
    );
    const actionOf = new Map(queued.map(({ deviceId, actionId }) => [deviceId, actionId]));
    await fleet.doorBatches.fill(
      tx,
      tenantId,
      opened.map(({ deviceIds, refused, setId }) => ({
        setId,
        targets: deviceIds.map((id) => ({
          deviceId: deviceOf.has(id) ? id : null,
          target: deviceOf.has(id) ? null : id.slice(0, LONGEST_TARGET),
          error: refused.get(id)?.code ?? null,
          message: refused.get(id)?.message ?? null,
          actionId: actionOf.get(id) ?? null,
        })),
      })),
    );
    const valid = await begin(tx, tenantId, queued);
    for (const plan of opened)
      answers[plan.at] = {
        batchId: plan.batchId,
        valid: plan.deviceIds.flatMap((id) => valid.get(actionOf.get(id) ?? '') ?? []),
        failed: [...plan.refused].map(([id, refusal]) => ({
          deviceId: id.slice(0, LONGEST_TARGET),
          ...refusal,
        })),
      };
    return answers;
  };
}
