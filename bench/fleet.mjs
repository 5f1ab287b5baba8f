// A fleet of devices with waiting work, made by plain inserts: through the API it would take minutes.

import { payload } from './measure.mjs';

/** The token of device n. @param {number} n */
export function tokenOf(n) {
  return `mst_device_1_${String(n).padStart(43, 'A')}`;
}

/**
 * A check-in as text, with the result of the action that the device has, if it has one.
 * @param {number} port
 * @param {{ deviceId: number, actionId?: string, attempt?: number }} device
 * @param {number} [wait] seconds
 */
export function checkInText(port, { deviceId, actionId, attempt }, wait) {
  const waits = wait === undefined ? '' : `"wait":${wait}`;
  const body = actionId
    ? `{"result":{"actionId":"${actionId}","attempt":${attempt},"status":"done"}${waits && `,${waits}`}}`
    : `{${waits}}`;
  return `POST /api/checkin HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\nauthorization: Bearer ${tokenOf(deviceId)}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/**
 * Devices 1 to n, each with a token that was used before.
 * @param {{ db: import('@muster/engine').Database }} muster @param {number} devices
 */
export async function makeFleet({ db }, devices) {
  await db.query({
    text: `with d as materialized (
        select nextval('muster.device_seq') as device_id, nextval('muster.lane_seq') as lane_id from generate_series(1, $1::int)
      ), n as (
        insert into muster.lane_names (tenant_id, space, name, lane_id) select 1, 'device', device_id::text, lane_id from d
      ), l as (
        insert into muster.lanes (tenant_id, lane_id) select 1, lane_id from d
      ), t as (
        insert into muster.tokens (tenant_id, kind, name, sha256, restriction, first_used_at)
          select 1, 'device', 'device ' || device_id, sha256(convert_to('mst_device_1_' || lpad(device_id::text, 43, 'A'), 'UTF8')),
            jsonb_build_object('deviceId', device_id::text, 'laneId', lane_id::text, 'generation', 1), now() from d
      )
      insert into muster.devices (tenant_id, device_id, lane_id, name, created_at, expires_at)
        select 1, device_id, lane_id, 'device ' || device_id, now(), now() + interval '1 year' from d`,
    values: [devices],
  });
}

/**
 * Makes all devices phones that have enrolled and can take commands.
 * @param {{ db: import('@muster/engine').Database }} muster
 */
export async function makePhones({ db }) {
  await db.query({ text: `update muster.devices set policy = 'active', udid = 'phone-' || device_id` });
  await db.query({ text: 'vacuum analyze muster.devices' });
}

/**
 * This many actions for each device, the first of them handed out.
 * @param {{ db: import('@muster/engine').Database }} muster @param {number} perDevice
 */
export async function assignToFleet({ db }, perDevice) {
  for (let round = 0; round < perDevice; round += 1)
    await db.query({
      text: `with n as materialized (
          select nextval('muster.action_seq') as action_id, nextval('muster.milestone_seq') as milestone_id, lane_id, device_id, expires_at
          from muster.devices
        ), a as (
          insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, created_at, max_attempts,
              backoff_ms, backoff_max_ms, head_of_line, on_lease_end)
            select 1, action_id, lane_id, 'checkin', 'bench', $1::json, 1, now(), 3, 2000, 300000, 'skip', 'retry' from n
        ), e as (
          insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt)
            select 1, action_id, lane_id, now(), 1, 0 from n
        ), b as (
          insert into muster.assignments (tenant_id, action_id, device_id, source, assigned_by, milestone_id)
            select 1, action_id, device_id, 'assign', 'bench', milestone_id from n
        ), m as (
          insert into muster.milestones (tenant_id, device_id, milestone_id, type, action_id, source, by, at, expires_at, projected_expires_at)
            select 1, device_id, milestone_id, 'assigned', action_id, 'assign', 'bench', now(), expires_at, expires_at from n
        )
        insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
          select 1, action_id, lane_id, 1, 'checkin', 1, action_id from n`,
      values: [JSON.stringify(payload)],
    });
  await db.query({
    text: `with f as materialized (
        select distinct on (lane_id) lane_id, action_id from muster.pending order by lane_id, seq
      ), e as (
        insert into muster.events (tenant_id, action_id, lane_id, at, type, attempt) select 1, action_id, lane_id, now(), 2, 1 from f
      )
      update muster.lanes l set action_id = f.action_id, attempt = 1, channel = 'checkin', leased_at = now(), lease_until = now() + interval '1 day',
        check_at = now() + interval '1 day',
        worker = 'device:' || d.device_id, ver = l.ver + 1
      from f join muster.devices d on d.lane_id = f.lane_id where l.lane_id = f.lane_id`,
  });
}

/**
 * The action that each device holds.
 * @param {{ db: import('@muster/engine').Database }} muster
 * @returns {Promise<{ deviceId: number, actionId: string, attempt: number }[]>}
 */
export async function handsOfFleet({ db }) {
  const { rows } = await db.query({
    text: `select d.device_id::int as "deviceId", l.action_id as "actionId", l.attempt
      from muster.devices d join muster.lanes l on l.tenant_id = d.tenant_id and l.lane_id = d.lane_id order by d.device_id`,
  });
  return rows;
}
