import { randomUUID } from 'node:crypto';
import { COMMAND_TOPIC, type CommandMessage } from '@muster/contracts';
import type { ActionType } from '@muster/contracts/words';
import type { ClaimedAction, Engine, Queryable } from '@muster/engine';
import type { Bus } from '../../bus/bus.ts';
import { Unusable } from '../../bus/subscription.ts';
import type { Fleet } from '../../fleet/index.ts';
import { ACTION_TRIGGER, PIPELINE, type Trigger } from './channel.ts';
import type { DeviceQueries, PipelineDevice } from './device-queries.ts';
import type { ExecutionQueries, PipelineAction } from './execution-queries.ts';
import { DEREGISTER, isAllowed, REGISTER, typeOf } from './transitions.ts';

/**
 * Dispatches the head of a device's lane: the lane is leased, the execution begins, and the command is published, in
 * one transaction. Nothing goes by the clock: a lane is looked at because a message says so, after an assignment, after
 * the end of an action, or when the device is heard of. So a timed-out action waits for its device, not for a time.
 *
 *   assigned, ended, connected ──► trigger ──► claim ──no longer allowed──► failed, next
 *                                                │──done by the server alone──► done, next
 *                                                └──► execution + command on the bus
 */
export interface Dispatcher {
  /**
   * In the caller's transaction. A Register gets an enrolment token only if its caller can be shown it: a token that is
   * never shown is useless, and operators can issue another at any time.
   */
  dispatch(
    tx: Queryable,
    tenantId: number,
    deviceIds: readonly string[],
    told?: { readonly by: string },
  ): Promise<Dispatch>;
  trigger(tx: Queryable, tenantId: number, triggers: readonly Trigger[]): Promise<void>;
  /** Called before a transaction, so that no call waits for another that publishes the first trigger. */
  prepare(tenantId: number): Promise<void>;
}

export interface Dispatch {
  /** Completed at once, by the server alone. */
  readonly completed: ReadonlySet<string>;
  readonly enrolmentTokens: ReadonlyMap<string, string>;
}

interface Tools {
  readonly bus: Bus;
  readonly devices: DeviceQueries;
  readonly engine: Engine;
  readonly executions: ExecutionQueries;
  readonly fleet: Fleet;
  readonly timeoutMs: number;
}

/** A command is not served in the last moments of its execution: the answer would come too late. */
const SERVED_UNTIL_MS = 2_000;
/** Of one lane in one transaction: actions that end at once may follow each other. */
const MOST_ROUNDS = 100;

interface Begun {
  readonly device: PipelineDevice;
  readonly claimed: ClaimedAction;
  readonly action: PipelineAction | undefined;
  readonly type: ActionType | undefined;
}

export function createDispatcher(tools: Tools): Dispatcher {
  const { bus, devices, engine, executions, fleet, timeoutMs } = tools;

  async function claim(tx: Queryable, tenantId: number, open: readonly PipelineDevice[]): Promise<Begun[]> {
    // its own worker name: a name that claims again is given what it already holds
    const worker = `${ACTION_TRIGGER}-${randomUUID()}`;
    const claims = await engine.claimMany(
      tx,
      open.map(({ laneId }) => ({ tenantId, laneId, channel: PIPELINE, worker, leaseMs: timeoutMs })),
    );
    const got = open.flatMap((device, n) => (claims[n] ? [{ device, claimed: claims[n] }] : []));
    const known = await executions.actions(
      tx,
      tenantId,
      got.map(({ claimed }) => claimed.id),
    );
    return got.map((one) => {
      const action = known.get(one.claimed.id);
      return { ...one, action, type: action && typeOf(action.typeId) };
    });
  }

  /** Null: it can be dispatched. */
  function faultOf({ device, type }: Begun): string | null {
    if (!type) return 'ACTION_NOT_FOUND';
    if (!isAllowed(type, device.policy)) return 'INVALID_TRANSITION';
    return type.way === 'command' && device.udid === null ? 'dispatch_failed' : null;
  }

  async function publish(tx: Queryable, tenantId: number, begun: readonly Begun[]): Promise<void> {
    const started = await executions.dispatch(
      tx,
      tenantId,
      begun.map(({ device: { deviceId }, claimed: { id, attempt } }) => ({
        actionId: id,
        deviceId,
        attempt,
      })),
    );
    const commands = begun.filter(({ type }) => type?.way === 'command');
    await bus.publish(
      tx,
      COMMAND_TOPIC,
      commands.map(({ action, device, claimed, type }) => {
        const udid = device.udid as string;
        const said = claimed.payload as { messageContent?: string; phoneNumber?: string };
        const body: CommandMessage = {
          command_uuid: started.get(claimed.id)?.commandUuid as string,
          device_udid: udid,
          push_token: null,
          push_magic: null,
          request_type: type?.requestType as string,
          command_payload: {
            ...(said.messageContent === undefined ? {} : { Message: said.messageContent }),
            ...(said.phoneNumber === undefined ? {} : { PhoneNumber: said.phoneNumber }),
          },
          expires_at: new Date(claimed.leaseUntil.getTime() - SERVED_UNTIL_MS).toISOString(),
          ...(action?.offline === 'FAIL' ? { fail_if_unreachable: true } : {}),
        };
        return { tenantId, key: udid, body };
      }),
    );
  }

  return {
    async dispatch(tx, tenantId, deviceIds, told) {
      const completed = new Set<string>();
      const enrolmentTokens = new Map<string, string>();
      let open = await devices.lock(tx, tenantId, deviceIds);
      for (let round = 0; open.length > 0 && round < MOST_ROUNDS; round += 1) {
        const begun = await claim(tx, tenantId, open);
        const good = begun.filter((one) => faultOf(one) === null);
        if (good.length > 0) await publish(tx, tenantId, good);
        const over = begun.filter((one) => faultOf(one) !== null || one.type?.way === 'database');
        const registered = over.filter((one) => faultOf(one) === null && one.type?.id === REGISTER);
        const secrets = told
          ? await fleet.issueEnrolmentTokens(
              tx,
              tenantId,
              registered.map(({ device }) => device.deviceId),
              told.by,
            )
          : [];
        for (const [deviceId, secret] of secrets) enrolmentTokens.set(deviceId, secret);
        await fleet.endEnrolmentTokens(
          tx,
          tenantId,
          over
            .filter((one) => faultOf(one) === null && one.type?.id === DEREGISTER)
            .map(({ device }) => device.deviceId),
        );
        if (over.length > 0)
          await engine.reportMany(
            tx,
            over.map((one) => {
              const { id, attempt } = one.claimed;
              const fault = faultOf(one);
              if (fault === null) completed.add(id);
              return {
                ...{ tenantId, actionId: id, attempt, channel: PIPELINE },
                ...(fault === null
                  ? { status: 'succeeded' as const }
                  : { status: 'failed' as const, final: true, error: fault }),
              };
            }),
          );
        open = over.map((one) => ({
          ...one.device,
          policy: (faultOf(one) === null && one.type?.to) || one.device.policy,
        }));
      }
      return { completed, enrolmentTokens };
    },

    prepare: (tenantId) => bus.prepare(ACTION_TRIGGER, tenantId),

    trigger: (tx, tenantId, triggers) =>
      bus.publish(
        tx,
        ACTION_TRIGGER,
        triggers.map((body) => ({ tenantId, key: body.device_id, body })),
      ),
  };
}

/** Takes the triggers. A dead trigger fails its action, and the row of its batch says so. */
export function subscribeDispatch(
  { bus, engine, executions }: Pick<Tools, 'bus' | 'engine' | 'executions'>,
  dispatcher: Dispatcher,
): void {
  bus.subscribe<Trigger>({
    topic: ACTION_TRIGGER,
    name: ACTION_TRIGGER,
    async take(tx, messages) {
      const ofTenant = new Map<number, string[]>();
      for (const { tenantId, body } of messages) {
        if (typeof body?.device_id !== 'string') throw new Unusable('The message has no device_id.');
        ofTenant.set(tenantId, [...(ofTenant.get(tenantId) ?? []), body.device_id]);
      }
      for (const [tenantId, deviceIds] of ofTenant) await dispatcher.dispatch(tx, tenantId, deviceIds);
    },
    async giveUp(tx, { tenantId, body }) {
      const { action_id: actionId, device_id } = body;
      if (actionId === null || (await executions.wasDispatched(tx, tenantId, actionId))) return;
      await engine.fail(tx, { tenantId, actionIds: [actionId], reason: 'dispatch_failed' });
      await dispatcher.trigger(tx, tenantId, [{ device_id, action_id: null }]);
    },
  });
}
