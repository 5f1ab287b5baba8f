import { CHECKIN_TOPIC, type CheckinEvent, COMMAND_TOPIC, type CommandMessage } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import type { CreateFeature, Shell } from '../src/feature.ts';

/**
 * Devices of another vendor: a layer of twenty lines that takes commands and reports what the devices did. It knows the bus and the
 * messages of its two topics, and nothing of the pipeline.
 */
export interface EchoFleet {
  readonly feature: CreateFeature;
  /** Every command so far, in order. */
  readonly commands: CommandMessage[];
  /** The immediate answer of a device; null: none. */
  answer: (command: CommandMessage) => CheckinEvent | null;
  say(event: CheckinEvent, tenantId?: number): Promise<void>;
  /** The device connects and sends its token. */
  enrol(deviceId: string, udid: string): Promise<void>;
  readonly shell: Shell;
}

const none = { command_uuid: null, payload: {} };

export const completed = ({ command_uuid, device_udid }: CommandMessage): CheckinEvent => ({
  ...{ event_type: 'ACTION_COMPLETED', command_uuid, udid: device_udid, payload: {} },
});

export const failed = (
  { command_uuid, device_udid }: CommandMessage,
  payload: Extract<CheckinEvent, { event_type: 'ACTION_FAILED' }>['payload'],
): CheckinEvent => ({ event_type: 'ACTION_FAILED', command_uuid, udid: device_udid, payload });

export const connected = (udid: string): CheckinEvent => ({ event_type: 'DEVICE_CONNECTED', udid, ...none });
export const released = (udid: string): CheckinEvent => ({ event_type: 'DEVICE_RELEASED', udid, ...none });
export const tokenUpdate = (udid: string, payload: { has_unlock_token?: boolean } = {}): CheckinEvent => ({
  ...{ event_type: 'DEVICE_TOKEN_UPDATE', command_uuid: null, udid, payload },
});

export function echoFleet(): EchoFleet {
  let known: Shell | undefined;
  const shell = () => known as Shell;
  const publish = (tx: Queryable, tenantId: number, event: CheckinEvent) =>
    shell().bus.publish(tx, CHECKIN_TOPIC, [{ tenantId, key: event.udid, body: event }]);
  const fleet: EchoFleet = {
    commands: [],
    answer: completed,
    feature(given) {
      known = given;
      given.bus.subscribe<CommandMessage>({
        topic: COMMAND_TOPIC,
        name: 'echo-process-action',
        async take(tx, messages) {
          for (const { tenantId, body } of messages) {
            fleet.commands.push(body);
            const event = fleet.answer(body);
            if (event) await publish(tx, tenantId, event);
          }
        },
      });
      return { name: 'echo', routes: [] };
    },
    say: (event, tenantId = 1) => shell().db.transaction((tx) => publish(tx, tenantId, event)),
    async enrol(deviceId, udid) {
      await fleet.say({
        ...{ event_type: 'DEVICE_AUTHENTICATED', command_uuid: null, udid },
        payload: { device_id: deviceId, serial: `serial of ${udid}`, model: 'Echo 1', os_version: '1.0' },
      });
      await fleet.say(tokenUpdate(udid, { has_unlock_token: true }));
    },
    get shell() {
      return shell();
    },
  };
  return fleet;
}
