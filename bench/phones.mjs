// Phones with certificates of their own authority and waiting commands, made by plain inserts: enrolling over HTTP would take
// minutes. Also their messages in the protocol.

import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { createAuthority, loadAuthority } from '@muster/mdm';
import * as pkijs from 'pkijs';
import { nameOf } from '../packages/mdm/dist/ca/build-certificate.js';
import { issueCertificate } from '../packages/mdm/dist/ca/issue.js';
import { certificateHash } from '../packages/mdm/dist/identity/certificate.js';

/** @typedef {{ udid: string, certificate: string }} PhoneOfCrowd certificate: base64 of DER */

const COMMON_NAME = '2.5.4.3';

/** The id of a command of a phone, so that the simulated phone knows it in advance. @param {string} udid @param {number} n */
export const commandUuid = (udid, n) =>
  `${n.toString(16).padStart(8, '0')}-0000-4000-8000-${udid.slice(-12)}`;

/** @param {string} udid @param {string} uuid */
export const acknowledged = (udid, uuid) =>
  `<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>UDID</key><string>${udid}</string><key>Status</key><string>Acknowledged</string><key>CommandUUID</key><string>${uuid}</string></dict></plist>`;

/** @param {number} count */
export async function makeCertificates(count) {
  const authority = await loadAuthority(await createAuthority({ commonName: 'Bench', now: new Date() }));
  // all share one key: only the certificates must differ
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const spki = pkijs.PublicKeyInfo.fromBER(
    Uint8Array.from(publicKey.export({ format: 'der', type: 'spki' })).buffer,
  );
  const phones = [];
  for (let n = 1; n <= count; n += 1) {
    const udid = `00008110-${String(n).padStart(16, '0')}`;
    const subject = nameOf([[COMMON_NAME, udid]]);
    const issued = await issueCertificate(authority, { subject, publicKey: spki, now: new Date(), days: 30 });
    phones.push({ udid, certificate: Buffer.from(issued.toSchema().toBER()) });
  }
  return { authority: authority.pem, key: privateKey, phones };
}

/**
 * Devices, lanes, phones, certificates, and this many commands for each.
 * @param {{ db: import('@muster/engine').Database }} server
 * @param {{ udid: string, certificate: Buffer }[]} phones @param {number} commands
 */
export async function enrolPhones({ db }, phones, commands) {
  const { X509Certificate } = await import('node:crypto');
  await db.query({
    text: `with d as materialized (
        select nextval('muster.device_seq') as device_id, nextval('muster.lane_seq') as lane_id, i.udid, i.hash
        from unnest($1::text[], $2::text[]) i(udid, hash)
      ), n as (
        insert into muster.lane_names (tenant_id, space, name, lane_id) select 1, 'device', device_id::text, lane_id from d
      ), l as (
        insert into muster.lanes (tenant_id, lane_id) select 1, lane_id from d
      ), v as (
        insert into muster.devices (tenant_id, device_id, lane_id, name, external_id, created_at) select 1, device_id, lane_id, udid, udid, now() from d
      ), c as (
        insert into muster.mdm_certificates (tenant_id, hash, udid, pinned_at, not_after) select 1, hash, udid, now(), now() + interval '30 days' from d
      )
      insert into muster.mdm_devices (tenant_id, udid, device_id, lane_id, enrolment_id, byod, topic, facts, authenticated_at, enrolled_at, token_updated_at)
        select 1, udid, device_id, lane_id, '1-' || udid, false, 'com.apple.mgmt.bench', '{}', now(), now(), now() from d`,
    values: [
      phones.map(({ udid }) => udid),
      phones.map(({ certificate }) => certificateHash(new X509Certificate(certificate))),
    ],
  });
  await db.query({
    text: `insert into muster.mdm_commands (tenant_id, udid, command_uuid, source, request_type, payload, created_at, expires_at)
      select 1, d.udid, lpad(to_hex(n), 8, '0') || '-0000-4000-8000-' || right(d.udid, 12), 'bus', 'DeviceLock', '{"Message": "Call 555", "PhoneNumber": "555"}', now(), now() + interval '1 day'
      from generate_series(0, $1::int - 1) n, muster.mdm_devices d order by n, d.udid`,
    values: [commands],
  });
  await db.query({ text: 'analyze' });
}

/**
 * Signs as a phone does without rebuilding the message: a built one gets another digest and another signature.
 * @param {Buffer} built over any bytes @param {import('node:crypto').KeyObject | string} key
 */
export function signer(built, key) {
  const [contentType, digest] = ['06092a864886f70d010903', '06092a864886f70d010904'].map((oid) =>
    built.lastIndexOf(Buffer.from(oid, 'hex')),
  );
  if (contentType === undefined || digest === undefined || contentType < 0 || digest < 0)
    throw new Error('The message has no signed attributes.');
  const at = digest + 11 + 4; // the OID, the set, the octet string
  /** @param {string} body */
  return (body) => {
    const message = Buffer.from(built);
    createHash('sha256').update(body).digest().copy(message, at);
    const attributes = message.subarray(contentType - 2, at + 32);
    const about = Buffer.concat([Buffer.from([0x31, attributes.length]), attributes]);
    sign('sha256', about, key).copy(message, message.length - 256);
    return message.toString('base64');
  };
}
