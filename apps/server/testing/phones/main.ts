import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openPostgres } from '@muster/engine';
import { FakeApns, testAuthority } from '@muster/mdm/simulation';
import { startCluster } from '../../../../testing/postgres-cluster.mjs';
import { type Running, serve } from '../muster-process.ts';
import { playPhones } from './crowd.ts';
import { nobodyCalls } from './nobody-calls.ts';

/**
 * `npm run phones -- --phones 1000 --commands 5 --kills 5 --seed 7`: phones with a bad network, with a server in its own process, on
 * its own PostgreSQL server, that is killed this many times. Exits with 0 if every command was done, no device is busy, and at each
 * kill every phone with something to fetch had a push coming.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      phones: { type: 'string', default: '1000' },
      commands: { type: 'string', default: '5' },
      kills: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now()) },
    },
  });
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-phones-'));
  const [issuer, apns, cluster] = await Promise.all([
    testAuthority('Fleet'),
    FakeApns.start(),
    startCluster(),
  ]);
  const push = await apns.pushCertificate();
  const caFile = path.join(folder, 'ca.pem');
  writeFileSync(caFile, issuer.pem);
  const operator = 'operator-of-the-phones-0123456789-abcdef';
  const port = 20_000 + (process.pid % 20_000);
  const settings = {
    ...{ HOME: folder, PORT: String(port), MUSTER_OPERATOR_TOKEN: operator },
    ...{ DATABASE_URL: cluster.url, MUSTER_DATA_DIR: folder, MUSTER_LOG_LEVEL: 'warn' },
    ...{ MUSTER_SECRETS_KEY: Buffer.alloc(32, 'key').toString('base64'), MUSTER_MDM_CA: caFile },
    ...{
      MUSTER_MDM_CERT_HEADER: 'x-client-cert',
      MUSTER_TRUSTED_PROXIES: '127.0.0.1',
      MUSTER_MDM_HOLD_SECONDS: '0',
    },
    ...{ APNS_URL: apns.url, APNS_CA: apns.ca, APNS_CERT: push.certificate, APNS_KEY: push.key },
  };
  const db = openPostgres({ url: cluster.url });
  /** Of everything that the server had committed when it died. */
  const uncalled = () => nobodyCalls(db, 'muster');
  const lost: string[] = [];
  let server: Running | undefined;
  const kills = Number(values.kills);
  let killed = 0;
  let killing: Promise<void> | null = null;
  try {
    server = await serve(settings);
    say(`seed ${values.seed}`);
    const report = await playPhones({
      ...{
        phones: Number(values.phones),
        commandsEach: Number(values.commands),
        seed: values.seed,
        issuer,
        operator,
      },
      url: () => `http://127.0.0.1:${port}`,
      onProgress(done) {
        if (killing || killed >= kills || done < (killed + 1) / (kills + 1)) return;
        killed += 1;
        say(`${Math.round(done * 100)} % done: the server is killed`);
        killing = (async () => {
          await server?.stop('SIGKILL');
          for (const id of await uncalled())
            lost.push(`after kill ${killed} no push was coming for device ${id}`);
          server = await serve(settings);
          killing = null;
        })();
      },
    });
    await killing;
    const { commands, connections, broken } = report;
    const faults = [
      ...[...report.faults, ...lost],
      ...(await uncalled()).map((id) => `no push was coming for device ${id}`),
    ];
    say(
      `${values.phones} phones, ${commands} commands, ${connections} connections, ${broken} broken, ${killed} kills`,
    );
    for (const fault of faults) say(fault);
    say(faults.length === 0 ? 'Nothing was lost, and no device is busy.' : `${faults.length} faults.`);
    return faults.length === 0 ? 0 : 1;
  } finally {
    await killing;
    await server?.stop('SIGKILL');
    await db.close();
    await Promise.all([apns.close(), cluster.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}
