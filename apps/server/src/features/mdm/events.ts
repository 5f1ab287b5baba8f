import type { Queryable } from '@muster/engine';
import type { Bus } from '../../bus/bus.ts';

/** The topics of the bus. */
export const COMMANDS = 'command';
const CHECKINS = 'checkin';

/** A message about a phone. */
export interface PhoneEvent {
  readonly type:
    | 'ACTION_COMPLETED'
    | 'ACTION_FAILED'
    | 'DEVICE_AUTHENTICATED'
    | 'DEVICE_TOKEN_UPDATE'
    | 'DEVICE_RELEASED'
    | 'DEVICE_CONNECTED';
  readonly udid: string;
  readonly commandUuid?: string;
  readonly payload?: object;
}

export type Publish = (tx: Queryable, tenantId: number, events: readonly PhoneEvent[]) => Promise<void>;

/** In order for each phone: its UDID is the key. */
export function createPublish(bus: Bus): Publish {
  return async (tx, tenantId, events) => {
    if (events.length === 0) return;
    await bus.publish(
      tx,
      CHECKINS,
      events.map(({ type, udid, commandUuid = null, payload = {} }) => ({
        tenantId,
        key: udid,
        body: { event_type: type, command_uuid: commandUuid, udid, payload },
      })),
    );
  };
}
