import type { Engine } from '@muster/engine';
import type { Caller } from '../tokens/caller.ts';

/** Carried by a device's token, so a check-in does not have to look up its device. */
export interface DeviceOf {
  readonly deviceId: string;
  readonly laneId: string;
  readonly generation: number;
}

export function deviceOf(caller: Caller): DeviceOf {
  return caller.restriction as DeviceOf;
}

/** The device has enrolled again or was deleted since: both raise the generation of its lane. */
export async function isOfFormerLife(engine: Engine, tenantId: number, token: DeviceOf): Promise<boolean> {
  const [lane] = await engine.laneLoads(engine.db.reserved, [{ tenantId, laneId: token.laneId }], 1);
  return lane === undefined || lane.generation > token.generation;
}

/** The name, also with an instance appended, under which a device holds its lease, whatever token it uses. */
export function holderOf(deviceId: string): string {
  return `device:${deviceId}`;
}

/** The space of the devices' lanes, and the channel of actions delivered at a check-in. */
export const DEVICE_SPACE = 'device';
export const CHECKIN = 'checkin';
