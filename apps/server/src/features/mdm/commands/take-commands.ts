import { COMMAND_TOPIC, type CommandMessage, commandMessage } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import { checkCommand, MdmError, plistFromJson } from '@muster/mdm';
import type { Bus } from '../../../bus/bus.ts';
import { type Received, Unusable } from '../../../bus/subscription.ts';
import type { PhoneEvent, Publish } from '../events.ts';
import type { Lives } from '../lives.ts';
import type { PhoneRow, Phones } from '../phones.ts';
import { PROFILE_IDENTIFIER } from '../profile.ts';
import type { Pushes } from '../push/index.ts';
import type { Arrivals } from './arrivals.ts';
import type { CommandCache, NewCommand } from './cache.ts';

interface Tools {
  readonly arrivals: Arrivals;
  readonly bus: Bus;
  readonly commands: CommandCache;
  readonly lives: Lives;
  readonly phones: Phones;
  readonly publish: Publish;
  readonly pushes: Pushes;
}

/** The name of the subscription, and of its lanes. */
const NAME = 'apple-process-action';
const MESSAGE = 'SendMessage';

/**
 * Takes commands for phones from the bus, stores them until the phones come, and wakes the phones. Commands for devices
 * that are not our phones are left to the other vendor layers, which get the same message.
 */
export function takeCommands({ arrivals, bus, commands, lives, phones, publish, pushes }: Tools): void {
  const failed = (message: CommandMessage, code?: string, reason = 'dispatch_failed'): PhoneEvent => ({
    type: 'ACTION_FAILED',
    udid: message.device_udid,
    commandUuid: message.command_uuid,
    payload: { reason, ...(code === undefined ? {} : { code }) },
  });

  async function takeOf(tx: Queryable, tenantId: number, messages: readonly CommandMessage[]): Promise<void> {
    const known = await phones.known(tx, tenantId, [...new Set(messages.map((one) => one.device_udid))]);
    const toAdd: { command: NewCommand; deviceId: string }[] = [];
    const events: PhoneEvent[] = [];
    for (const message of messages) {
      const phone = known.get(message.device_udid);
      if (!phone) continue;
      // a command that comes before the old life is over belongs to the old one
      const why = (await lives.isBegun(tx, tenantId, phone)) ? refusalOf(phone, message) : {};
      const dead =
        !why && message.fail_if_unreachable ? await pushes.deadReasonOf(tx, tenantId, phone.deviceId) : null;
      if (why) events.push(failed(message, why.code));
      else if (dead && message.request_type !== MESSAGE) events.push(failed(message, undefined, dead));
      else if (message.request_type === MESSAGE)
        await pushes.message(tx, tenantId, phone.deviceId, {
          id: message.command_uuid,
          text: message.command_payload.Message ?? '',
          until: new Date(message.expires_at),
        });
      else toAdd.push({ command: commandOf(message), deviceId: phone.deviceId });
    }
    await publish(tx, tenantId, events);
    if (toAdd.length === 0) return;
    const added = await commands.add(
      tx,
      tenantId,
      toAdd.map(({ command }) => command),
    );
    const fresh = toAdd.filter(({ command }) => added.has(command.commandUuid));
    await pushes.want(
      tx,
      tenantId,
      fresh.map(({ deviceId }) => deviceId),
    );
    await arrivals.tell(
      tx,
      tenantId,
      fresh.map(({ command }) => command.udid),
    );
  }

  bus.subscribe<CommandMessage>({
    topic: COMMAND_TOPIC,
    name: NAME,
    async take(tx, messages) {
      for (const [tenantId, own] of byTenant(messages)) await takeOf(tx, tenantId, own.map(bodyOf));
    },
    async giveUp(tx, { tenantId, body }) {
      const read = commandMessage.safeParse(body);
      if (read.success) await publish(tx, tenantId, [failed(read.data)]);
    },
  });

  pushes.onMessage(async (tx, tenantId, deviceId, id, outcome) => {
    const phone = await phones.ofDevice(tx, tenantId, deviceId);
    if (!phone) return;
    const about = { udid: phone.udid, commandUuid: id };
    await publish(tx, tenantId, [
      outcome.kind === 'accepted'
        ? { type: 'ACTION_COMPLETED', ...about }
        : { type: 'ACTION_FAILED', ...about, payload: whyNotSent(outcome.code) },
    ]);
  });

  /** Messages that wait for the app may be sent now; a dispatcher is told as if the phone had come. */
  pushes.onAppToken(async (tx, tenantId, deviceId) => {
    const phone = await phones.ofDevice(tx, tenantId, deviceId);
    if (phone && phone.releasedAt === null)
      await publish(tx, tenantId, [{ type: 'DEVICE_CONNECTED', udid: phone.udid }]);
  });

  /** No push reaches the phone: commands that were to be fetched have failed. */
  pushes.onDead(async (tx, tenantId, deviceId, reason) => {
    const phone = await phones.ofDevice(tx, tenantId, deviceId);
    if (!phone) return;
    const closed = await commands.closeAll(tx, tenantId, phone.udid, ['bus']);
    await publish(
      tx,
      tenantId,
      closed.map(({ udid, commandUuid }) => ({
        type: 'ACTION_FAILED',
        udid,
        commandUuid,
        payload: { reason },
      })),
    );
  });
}

function whyNotSent(code: string): object {
  if (code === 'apns_bad_token' || code === 'apns_unregistered') return { reason: code };
  return code === 'TOO_LATE' ? { reason: 'device_timeout' } : { reason: 'dispatch_failed', code };
}

function bodyOf({ body }: Received<CommandMessage>): CommandMessage {
  const read = commandMessage.safeParse(body);
  if (!read.success) throw new Unusable(`The message is not a valid command: ${read.error.message}`);
  return read.data;
}

/** Null: it can be handed out. */
function refusalOf(phone: PhoneRow, message: CommandMessage): { code?: string } | null {
  if (phone.releasedAt !== null || phone.enrolledAt === null) return {};
  if (message.request_type === MESSAGE) return null;
  if (message.request_type === 'ClearPasscode')
    return phone.sealedUnlockToken === null ? { code: 'NO_UNLOCK_TOKEN' } : null;
  const { requestType, payload } = commandOf(message);
  try {
    checkCommand({ requestType, keys: plistFromJson(payload as Record<string, unknown>) });
    return null;
  } catch (error) {
    if (error instanceof MdmError) return { code: error.code };
    throw error;
  }
}

function commandOf(message: CommandMessage): NewCommand {
  const { command_payload: payload, request_type: requestType } = message;
  return {
    ...{ udid: message.device_udid, commandUuid: message.command_uuid, source: 'bus', requestType },
    payload: requestType === 'RemoveProfile' ? { Identifier: PROFILE_IDENTIFIER } : payload,
    expiresAt: new Date(message.expires_at),
  };
}

function byTenant<T extends { readonly tenantId: number }>(messages: readonly T[]): Map<number, T[]> {
  const tenants = new Map<number, T[]>();
  for (const message of messages) {
    const same = tenants.get(message.tenantId);
    if (same) same.push(message);
    else tenants.set(message.tenantId, [message]);
  }
  return tenants;
}
