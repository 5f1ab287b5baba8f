import type { Queryable } from '@muster/engine';
import type { Audit } from '../audit/audit.ts';
import { nobodyCouldHave, type RedriveRule, type RedriveWish } from '../redriving/redriving.ts';
import { DeviceInError, deviceError } from './errors.ts';
import type { DeviceQueries } from './queries.ts';

/**
 * An action for a deleted device can no longer be executed, nor can one that only a PC delivers (channels of `ofPcs`)
 * for a device without a PC. Redriving for a device in error is refused, however the action would be delivered, until
 * the caller confirms with `clearError` that the error is over: it may not know of the error. A copy is a new
 * assignment, which an error does not prevent.
 */
export function createRedriveRule(
  s: string,
  { audit, ofPcs, queries }: { audit: Audit; ofPcs: ReadonlySet<string>; queries: DeviceQueries },
): RedriveRule {
  /** Locked: until the transaction ends, they cannot be deleted, moved or put into error. */
  async function devicesOf(tx: Queryable, tenantId: number, laneIds: readonly string[]) {
    const { rows } = await tx.query({
      text: `select d.* from (
          select d.device_id from unnest((select $2::bigint[])) i(lane_id)
          cross join lateral (
            select d.device_id from ${s}.devices d where d.tenant_id = $1 and d.lane_id = i.lane_id and ${s}.sought_by(d.lane_id) limit 1
          ) d order by d.device_id
        ) i
        cross join lateral (
          select d.device_id, d.name, d.lane_id, d.state, d.state_reason, d.pc_id, d.deleted_at from ${s}.devices d
          where d.tenant_id = $1 and d.device_id = i.device_id limit 1 for no key update
        ) d`,
      values: [tenantId, [...new Set(laneIds)]],
    });
    return new Map(rows.map((row) => [row.lane_id as string, row]));
  }

  return async (tx, tenantId, letters, wish) => {
    const { caller, clearError, copy } = wish;
    const devices = await devicesOf(
      tx,
      tenantId,
      letters.map(({ laneId }) => laneId),
    );
    const cleared = new Set<string>();
    const refused = new Map<string, ReturnType<typeof deviceError>>();
    for (const { id, laneId, channel } of letters) {
      const device = devices.get(laneId);
      if (!device) continue;
      if (device.deleted_at) refused.set(id, gone('The device was deleted.', wish));
      else if (copy) continue;
      else if (device.pc_id === null && ofPcs.has(channel))
        refused.set(id, gone('The device belongs to no PC.', wish));
      else if (device.state === 'error' && clearError) cleared.add(device.device_id);
      else if (device.state === 'error')
        refused.set(id, inError({ id: device.device_id, name: device.name }, device.state_reason));
    }
    for (const deviceId of await queries.clearErrors(tx, tenantId, [...cleared]))
      await audit.write(tx, caller, { act: 'device.clear-error', target: `device ${deviceId}` });
    return refused;
  };
}

const gone = (why: string, wish: RedriveWish) =>
  deviceError('MUSTER_TARGET_GONE', nobodyCouldHave(why, wish));

const inError = (device: DeviceInError['device'], reason: string | null) =>
  new DeviceInError(
    device,
    `Device ${device.id} is in error (${reason ?? 'unknown'}), so this stays a dead letter. Redrive it with "clearError": true, or clear the error first.`,
  );
