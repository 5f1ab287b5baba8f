import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeApns } from '@muster/mdm/simulation';
import { CommandError } from '../commands/command.ts';
import { clientEnvironment, readConfig } from '../config.ts';
import { migrations } from '../database/migrations.ts';
import { openDatabase } from '../database/open-database.ts';
import { type Demo, type DemoWish, FLEET, type FleetSize, playDemo, startReceiver } from '../demo/index.ts';
import { isBlockedPort } from '../http/blocked-ports.ts';
import { type Server, startServer } from '../main.ts';
import { sentenceOf } from './sentence.ts';
import { stopOnSignal } from './signals.ts';
import { startProgress } from './start-progress.ts';

/**
 * `muster demo`: a server of its own with a simulated fleet, until it is stopped. All data is in a folder, or in a
 * schema of the given database, and is deleted with it.
 */
export interface DemoFlags extends Partial<Record<keyof FleetSize, string>> {
  readonly port?: string;
  readonly databaseUrl?: string;
  readonly dataDir?: string;
  readonly pastHours?: string;
}

export interface RunningDemo extends Demo {
  readonly url: string;
  readonly server: Server;
}

const PAST_HOURS = '6.5';
const CERTIFICATE_MS = 9 * 86_400_000;
const HOUR_MS = 3_600_000;

/** Short times, so something is always happening; a target silent for a minute is offline. */
const SETTINGS = {
  MUSTER_CHECKIN_LEASE_SECONDS: '60',
  MUSTER_CONTROL_LEASE_SECONDS: '60',
  MUSTER_MDM_LEASE_SECONDS: '60',
  MUSTER_ONLINE_WINDOW_SECONDS: '75',
  MUSTER_ORDER_SECONDS: '30',
  MUSTER_DEADLINE_SECONDS: '60',
  MUSTER_RETENTION_DAYS: '2',
  MUSTER_OUTGOING_ALLOW: '127.0.0.1',
  MUSTER_LOG_LEVEL: 'fatal',
};

export async function demo(flags: DemoFlags): Promise<void> {
  let running: RunningDemo | undefined;
  const ending = new AbortController();
  const starting = start();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  stopOnSignal(starting, async () => running?.stop());
  await starting;

  async function start(): Promise<void> {
    const progress = startProgress((sentence) => console.log(sentence));
    try {
      running = await startDemo(flags, {
        onStep: progress.step,
        onFault: (text) => console.error(text),
        signal: ending.signal,
      });
    } catch (error) {
      if (ending.signal.aborted) process.exit(0);
      console.error(sentenceOf(error));
      process.exit(1);
    } finally {
      progress.end();
    }
    for (const line of greeting(running, flags)) console.log(line);
  }
}

function greeting({ people, tryThis, url }: RunningDemo, { dataDir }: DemoFlags): string[] {
  return [
    '',
    `The console is at ${url}`,
    '',
    '  sign in as    with this token',
    `  admin         ${people.admin}`,
    `  ana, operator ${people.ana}`,
    `  vera, viewer  ${people.vera}`,
    '',
    'Try this:',
    ...tryThis.map((line) => `  ${line}`),
    '',
    dataDir === undefined
      ? 'Ctrl-C ends it and leaves nothing behind.'
      : `Ctrl-C ends it and keeps ${dataDir}.`,
  ];
}

export async function startDemo(
  flags: DemoFlags,
  hear: Pick<DemoWish, 'onFault' | 'onStep' | 'signal'>,
): Promise<RunningDemo> {
  const size = sizeOf(flags);
  refuseBlocked(flags.port ?? clientEnvironment().PORT);
  const pastMs = hours(flags.pastHours ?? PAST_HOURS) * HOUR_MS;
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  };
  try {
    const folder = folderOf(flags, undo);
    const environment = clientEnvironment();
    const databaseUrl = flags.databaseUrl ?? environment.DATABASE_URL;
    const schema = `muster_demo_${randomBytes(4).toString('hex')}`;
    const apns = await FakeApns.start();
    undo.push(() => apns.close());
    const receiver = await startReceiver();
    undo.push(() => receiver.stop());
    const { certificate, key } = await apns.pushCertificate(undefined, new Date(Date.now() + CERTIFICATE_MS));
    const config = readConfig({
      ...SETTINGS,
      ...{ HOST: environment.HOST, PORT: flags.port ?? environment.PORT, MUSTER_DATA_DIR: folder },
      ...(databaseUrl
        ? {
            DATABASE_URL: databaseUrl,
            MUSTER_SCHEMA: schema,
            MUSTER_SECRETS_KEY: randomBytes(32).toString('hex'),
          }
        : {}),
      ...{ APNS_URL: apns.url, APNS_CA: apns.ca, APNS_CERT: certificate, APNS_KEY: key },
    });
    if (databaseUrl) undo.push(() => dropSchema(databaseUrl, schema));

    let behindMs = pastMs;
    const now = () => new Date(Date.now() - behindMs);
    const server = await startServer(config, { clock: now, onStep: hear.onStep });
    undo.push(() => server.stop());
    const { operatorToken: operator } = server;
    if (operator.from !== 'new') throw new Error('The database of the demo is already in use.');
    const played = await playDemo({
      ...{ admin: operator.token, apns, receiver, size, url: server.url, ...hear },
      clock: {
        now,
        setOn(at) {
          behindMs = Math.max(0, Math.min(behindMs, Date.now() - at.getTime()));
        },
      },
      until: () => new Date(),
      async tick(...duties) {
        for (const duty of duties) await server.engine.runDuty(duty);
      },
    });
    undo.push(() => played.stop());
    return { ...played, server, url: server.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A temporary folder that is deleted with the demo, or the given one, which is kept and must be new. */
function folderOf({ dataDir }: DemoFlags, undo: (() => Promise<unknown>)[]): string {
  if (dataDir !== undefined) {
    const folder = path.resolve(dataDir);
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new CommandError(
        `${folder} is not empty. Each demo starts from scratch; to look at an earlier one, run "MUSTER_DATA_DIR=${dataDir} muster serve".`,
      );
    return folder;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-demo-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  // also after a second signal
  process.on('exit', remove);
  undo.push(async () => {
    remove();
    process.off('exit', remove);
  });
  return folder;
}

async function dropSchema(url: string, schema: string): Promise<void> {
  const { db, close } = await openDatabase(readConfig({ DATABASE_URL: url }), () => {});
  try {
    await migrations(db, schema).down('all');
    await db.query({ text: `drop schema if exists ${schema} cascade` });
  } finally {
    await close();
  }
}

/** A console on a port that browsers block is useless, and the fleet could not reach the server either. */
function refuseBlocked(port: string | undefined): void {
  if (port !== undefined && isBlockedPort(Number(port)))
    throw new CommandError(
      `Browsers block port ${port}, because another protocol uses it. Choose another one, for example --port 4300.`,
    );
}

function sizeOf(flags: DemoFlags): FleetSize {
  const number = (name: Exclude<keyof FleetSize, 'seed'>, most: number) => {
    const given = flags[name];
    if (given === undefined) return FLEET[name];
    if (!/^\d{1,5}$/.test(given) || Number(given) > most)
      throw new CommandError(`--${name} must be a whole number up to ${most}, not "${given}".`);
    return Number(given);
  };
  return {
    seed: flags.seed ?? FLEET.seed,
    devices: number('devices', 20_000),
    hosts: number('hosts', 1_000),
    pcs: number('pcs', 100),
    bots: number('bots', 200),
    phones: number('phones', 50),
  };
}

function hours(text: string): number {
  const number = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || number > 24)
    throw new CommandError(`--past-hours must be a number up to 24, not "${text}".`);
  return number;
}
