// Phones over Apple's protocol: the report of a command and the next one, in one request.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { phoneCycles } from '../load.mjs';

/** Fewer in a quick run: a certificate takes milliseconds, and a signature. */
const PHONES = 1_000;

/** @param {'header' | 'signature'} by @param {number} perSecond at most: so many commands are made */
const row = (by, perSecond) => ({
  name: `mdm-cycles-${by}`,
  title: `Phones: answer in, next command out, known by ${by === 'header' ? 'what a proxy has seen' : 'their signatures'}`,
  unit: 'cycles/s',
  uses: /** @type {'postgres'[]} */ (['postgres']),
  settings: `PUT /mdm of 1,000 phones in turn, Acknowledged in, the next DeviceLock out, and what became of it on the bus; ${by === 'header' ? 'the certificate in a header of a trusted proxy' : 'Mdm-Signature, RSA 2048 and SHA-256'}`,
  /** @param {import('../rows.mjs').Task} task */
  async measure({ url, sizes }) {
    const { openServer } = await import('../server.mjs');
    const { enrolPhones, makeCertificates } = await import('../phones.mjs');
    const { signData } = await import('../../packages/mdm/dist/cms/signed-data.js');
    const { signingKeyOf } = await import('../../packages/mdm/dist/ca/authority.js');
    const pkijs = await import('pkijs');
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-mdm-'));
    const { authority, key, phones } = await makeCertificates(Math.min(PHONES, sizes.callers));
    writeFileSync(path.join(folder, 'ca.pem'), authority);
    const server = await openServer(url, {
      MUSTER_SECRETS_KEY: Buffer.alloc(32, 'bench').toString('base64'),
      MUSTER_MDM_CA: path.join(folder, 'ca.pem'),
      ...(by === 'header'
        ? { MUSTER_MDM_CERT_HEADER: 'x-client-cert', MUSTER_TRUSTED_PROXIES: '127.0.0.1' }
        : {}),
    });
    const commands = Math.ceil((perSecond * (sizes.httpWarmUpSeconds + sizes.seconds)) / phones.length) + 10;
    await enrolPhones(server, phones, commands);
    const signing = await signingKeyOf(key);
    /** @param {Buffer} certificate */
    const signed = async (certificate) =>
      signData({
        ...{ content: Buffer.from('anything'), detached: true, key: signing },
        certificate: pkijs.Certificate.fromBER(Uint8Array.from(certificate).buffer),
      });
    const crowd = [];
    for (const { udid, certificate } of phones)
      crowd.push({
        udid,
        header: `:${certificate.toString('base64')}:`,
        signed: by === 'signature' ? (await signed(certificate)).toString('base64') : null,
      });
    const pem = key.export({ format: 'pem', type: 'pkcs8' }).toString();
    const result = await phoneCycles({ ...sizes, port: server.port, commands, phones: crowd, key: pem });
    await server.close();
    rmSync(folder, { force: true, recursive: true });
    return { ...result, connections: sizes.connections };
  },
});

export default [row('header', 16_000), row('signature', 12_000)];
