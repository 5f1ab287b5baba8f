import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabase } from '@muster/engine/testing';
import { FakeApns, Phone, send, testAuthority, testCertificate } from '@muster/mdm/simulation';
import { expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { startServer } from '../src/main.ts';

test('with its own TLS, a phone is identified by the certificate of its connection, and other clients need none', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-tls-'));
  const file = (name: string, pem: string) => {
    writeFileSync(path.join(folder, name), pem);
    return path.join(folder, name);
  };
  const [site, fleet, foreign, apns, database] = await Promise.all([
    testAuthority('Site'),
    testAuthority('Fleet'),
    testAuthority('Somebody else'),
    FakeApns.start(),
    testDatabase({ lines: LINES }),
  ]);
  const own = await testCertificate({ commonName: 'localhost', issuer: site, dnsNames: ['localhost'] });
  const push = await apns.pushCertificate();
  const operator = 'operator-of-the-tests-0123456789-abcdef';
  const config = readConfig({
    ...{ PORT: '0', HOST: 'localhost', MUSTER_OPERATOR_TOKEN: operator, MUSTER_LOG_LEVEL: 'error' },
    ...{
      MUSTER_SECRETS_KEY: Buffer.alloc(32, 'key').toString('base64'),
      MUSTER_MDM_CA: file('ca', fleet.pem),
    },
    ...{ MUSTER_TLS_CERT: file('cert', own.pem), MUSTER_TLS_KEY: file('key', own.keyPem) },
    ...{ APNS_URL: apns.url, APNS_CA: apns.ca, APNS_CERT: push.certificate, APNS_KEY: push.key },
  });
  const server = await startServer(config, { db: database.db });
  try {
    const url = server.url.replace('127.0.0.1', 'localhost').replace('[::1]', 'localhost');
    expect(url).toMatch(/^https:/);
    const tls = { ca: site.pem };
    const headers = { authorization: `Bearer ${operator}`, 'content-type': 'application/json' };
    const ask = async (at: string, body: object) => {
      const sent = await send({
        url: url + at,
        method: 'POST',
        headers,
        tls,
        body: Buffer.from(JSON.stringify(body)),
      });
      return JSON.parse(sent.body.toString());
    };
    const { id } = await ask('/api/devices', { name: 'phone' });
    const enrolment = await ask(`/api/devices/${id}/mdm/enrolment`, {});
    const phone = new Phone({ by: 'tls', ca: site.pem });
    const identity = await testCertificate({ commonName: 'phone', issuer: fleet, purposes: ['clientAuth'] });
    await phone.enrol(enrolment.url, { identity });
    const { commandUuid } = await ask(`/api/devices/${id}/mdm/commands`, { requestType: 'ProfileList' });
    expect(await phone.connect()).toMatchObject([{ commandUuid }]);
    phone.identity = await testCertificate({
      commonName: 'phone',
      issuer: foreign,
      purposes: ['clientAuth'],
    });
    await expect(phone.connect()).rejects.toThrow('400');
    // a browser with some other certificate is served like any client
    const shown = { ...tls, cert: phone.identity.pem, key: phone.identity.keyPem };
    expect((await send({ url: `${url}/healthz`, tls: shown })).status).toBe(200);
  } finally {
    await server.stop();
    await Promise.all([apns.close(), database.drop()]);
    rmSync(folder, { recursive: true, force: true });
  }
});
