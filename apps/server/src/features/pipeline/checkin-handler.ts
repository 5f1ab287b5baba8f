import { CHECKIN_TOPIC, type CheckinEvent, checkinEvent } from '@muster/contracts';
import type { Policy } from '@muster/contracts/words';
import type { Engine, Queryable, ReportRequest } from '@muster/engine';
import type { Bus } from '../../bus/bus.ts';
import { Unusable } from '../../bus/subscription.ts';
import { CHECKIN_HANDLER, PIPELINE } from './channel.ts';
import type { DeviceQueries, PipelineDevice } from './device-queries.ts';
import type { Dispatcher } from './dispatch.ts';
import type { CommandOf, ExecutionQueries } from './execution-queries.ts';
import { MANAGED, RELEASE, typeOf } from './transitions.ts';

/**
 * Takes the messages of vendor layers about devices. Everything that follows from a message is done in its transaction.
 * A message that cannot be processed never fails an action: it is kept, raises an alert, and can be redriven.
 */
interface Tools {
  readonly bus: Bus;
  readonly devices: DeviceQueries;
  readonly dispatcher: Dispatcher;
  readonly engine: Engine;
  readonly executions: ExecutionQueries;
}

type Of<Type extends CheckinEvent['event_type']> = Extract<CheckinEvent, { event_type: Type }>;
type Failed = Of<'ACTION_FAILED'>;

interface Said {
  readonly event: CheckinEvent;
  readonly device: PipelineDevice;
  /** The execution it belongs to, if any. */
  readonly command: CommandOf | undefined;
}

const isOfThisLife = ({ policy, lifeBeganAt }: PipelineDevice, { dispatchedAt }: CommandOf) =>
  MANAGED.includes(policy) &&
  (lifeBeganAt === null || (dispatchedAt !== null && dispatchedAt >= lifeBeganAt));

export function subscribeCheckins(tools: Tools): void {
  const { bus, devices, dispatcher, engine, executions } = tools;

  /** The device of each message, locked; messages about unknown devices are skipped. */
  async function read(tx: Queryable, tenantId: number, events: readonly CheckinEvent[]): Promise<Said[]> {
    const commands = await executions.byCommand(
      tx,
      tenantId,
      events.flatMap(({ command_uuid }) => command_uuid ?? []),
    );
    const udids = await devices.idsByUdid(
      tx,
      tenantId,
      events.map(({ udid }) => udid),
    );
    const idOf = (event: CheckinEvent) =>
      event.event_type === 'DEVICE_AUTHENTICATED'
        ? event.payload.device_id
        : event.command_uuid === null
          ? udids.get(event.udid)
          : commands.get(event.command_uuid)?.deviceId;
    const locked = await devices.lock(
      tx,
      tenantId,
      events.flatMap((event) => idOf(event) ?? []),
    );
    const known = new Map(locked.map((device) => [device.deviceId, device]));
    return events.flatMap((event) => {
      const device = known.get(idOf(event) ?? '');
      const command = event.command_uuid === null ? undefined : commands.get(event.command_uuid);
      return device ? [{ event, device, command }] : [];
    });
  }

  /** What a failure means for its attempt. */
  function reportOf(
    command: CommandOf,
    { payload }: Failed,
  ): Pick<ReportRequest, 'status' | 'final' | 'error'> {
    const { reason, code, fetched, not_now } = payload;
    const error = not_now ? 'not_now' : (code ?? reason);
    if (reason === 'device_error' || typeof code === 'string' || command.offline === 'FAIL')
      return { status: 'failed', final: true, error };
    if (reason === 'dispatch_failed') return { status: 'failed', error };
    // without being woken, the device could not fetch it
    if (reason !== 'device_timeout' || fetched === false) return { status: 'unreached', error };
    return not_now ? { status: 'notNow', error } : { status: 'timedOut' };
  }

  async function report(tx: Queryable, tenantId: number, said: readonly Said[]): Promise<string[]> {
    const first = await executions.acknowledge(
      tx,
      tenantId,
      said.flatMap(({ event, command }) =>
        event.event_type === 'ACTION_COMPLETED' && command ? [command.executionId] : [],
      ),
    );
    const told = said.flatMap(({ event, device, command }) => {
      if (!command) return [];
      if (event.event_type === 'ACTION_FAILED')
        return [{ device, command, request: reportOf(command, event), chain: event.payload.error_chain }];
      if (event.event_type !== 'ACTION_COMPLETED' || !first.has(command.executionId)) return [];
      return [{ device, command, request: { status: 'succeeded' as const }, chain: undefined }];
    });
    if (told.length === 0) return [];
    await executions.keepErrors(
      tx,
      tenantId,
      told.flatMap(({ command: { executionId }, chain }) =>
        chain ? [{ executionId, errorChain: chain }] : [],
      ),
    );
    const answers = await engine.reportMany(
      tx,
      told.map(({ command: { actionId, attempt }, request }) => ({
        ...{ tenantId, actionId, attempt, channel: PIPELINE, retryAfterMs: 0 },
        ...request,
      })),
    );
    // The device has done it, whatever state the action has reached. Not if it was in a former life, or before it left.
    const late = told.filter(
      ({ device, command, request }, n) =>
        request.status === 'succeeded' && !answers[n]?.accepted && isOfThisLife(device, command),
    );
    const asTheyStay = await executions.byCommand(
      tx,
      tenantId,
      late.map(({ command }) => command.commandUuid),
    );
    await devices.movePolicy(
      tx,
      late.flatMap(({ device, command: { actionId, commandUuid, typeId } }) => {
        const to = typeOf(typeId)?.to;
        const stays = asTheyStay.get(commandUuid);
        if (!to || !stays) return [];
        const { executionId: id, status, failedReason } = stays;
        return [{ tenantId, device, to, execution: { id, status, failedReason }, actionId }];
      }),
    );
    return told.flatMap(({ device }, n) =>
      answers[n]?.accepted && answers[n].state !== 'pending' ? [device.deviceId] : [],
    );
  }

  const moved = (tenantId: number, device: PipelineDevice, to: Policy) => ({
    ...{ tenantId, device, to, execution: null, actionId: null },
  });

  /**
   * The device becomes another phone, or is gone: its unfinished actions end. An open release is what it has just done,
   * whether it was sent, waited for the device or for its turn.
   */
  async function endLife(tx: Queryable, tenantId: number, device: PipelineDevice): Promise<void> {
    const { deviceId } = device;
    const releases = await executions.openOf(tx, tenantId, deviceId, RELEASE);
    for (const { actionId, attempt } of releases)
      if (attempt !== null)
        await engine.report(tx, { tenantId, actionId, attempt, channel: PIPELINE, status: 'succeeded' });
    await engine.succeed(tx, {
      ...{ tenantId, reason: 'DEVICE_RELEASED' },
      actionIds: releases.flatMap(({ actionId, attempt }) => (attempt === null ? actionId : [])),
    });
    await beginLife(tx, tenantId, device);
  }

  /** Unfinished actions end, and what the device did until now no longer counts. */
  async function beginLife(tx: Queryable, tenantId: number, { deviceId, laneId }: PipelineDevice) {
    await engine.raiseGeneration(tx, { tenantId, laneId });
    await devices.beginLife(tx, tenantId, deviceId);
  }

  async function live(tx: Queryable, tenantId: number, { event, device }: Said): Promise<void> {
    const { deviceId, policy } = device;
    switch (event.event_type) {
      case 'DEVICE_AUTHENTICATED': {
        const { new_life, serial, model, os_version } = event.payload;
        await devices.unbind(tx, tenantId, event.udid, deviceId);
        await devices.describe(tx, tenantId, deviceId, {
          ...{ udid: event.udid, serial, model, osVersion: os_version },
          ...(new_life ? { hasUnlockToken: null } : {}),
        });
        if (new_life) await beginLife(tx, tenantId, device);
        // a device may enrol without an invitation by Register
        if (new_life || policy === 'registered' || policy === 'uploaded')
          await devices.movePolicy(tx, [moved(tenantId, device, 'enrolled')]);
        return;
      }
      case 'DEVICE_TOKEN_UPDATE': {
        const { awaits_configuration, new_life, has_unlock_token } = event.payload;
        await devices.describe(tx, tenantId, deviceId, { hasUnlockToken: has_unlock_token });
        if (new_life) {
          await beginLife(tx, tenantId, device);
          await devices.movePolicy(tx, [moved(tenantId, device, 'enrolled')]);
        } else if (policy === 'enrolled' && !awaits_configuration)
          await devices.movePolicy(tx, [moved(tenantId, device, 'active')]);
        return;
      }
      case 'DEVICE_RELEASED': {
        await endLife(tx, tenantId, device);
        const [now] = await devices.lock(tx, tenantId, [deviceId]);
        if (now && MANAGED.includes(now.policy))
          await devices.movePolicy(tx, [moved(tenantId, now, 'released')]);
        return;
      }
      default:
    }
  }

  bus.subscribe<CheckinEvent>({
    topic: CHECKIN_TOPIC,
    name: CHECKIN_HANDLER,
    async take(tx, messages) {
      const ofTenant = new Map<number, CheckinEvent[]>();
      for (const { tenantId, body } of messages) {
        const { data, error } = checkinEvent.safeParse(body);
        if (!data) throw new Unusable(`This is not a check-in event: ${error.message}`);
        ofTenant.set(tenantId, [...(ofTenant.get(tenantId) ?? []), data]);
      }
      for (const [tenantId, events] of ofTenant) {
        const said = await read(tx, tenantId, events);
        const free = new Set(await report(tx, tenantId, said));
        for (const one of said) {
          await live(tx, tenantId, one);
          const { event_type } = one.event;
          if (event_type === 'DEVICE_CONNECTED' || event_type === 'DEVICE_TOKEN_UPDATE')
            free.add(one.device.deviceId);
        }
        const waiting = await executions.waitingOf(tx, tenantId, [...free]);
        await dispatcher.trigger(
          tx,
          tenantId,
          waiting.map((device_id) => ({ device_id, action_id: null })),
        );
      }
    },
  });
}
