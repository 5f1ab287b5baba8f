import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { inject } from 'vitest';

/**
 * A server and an agent as users run them, each a process of its own that is killed and started again, and a stand-in for
 * `systemctl` that writes down each call. What a unit does is in its name: `gate-…` waits until the test opens its gate,
 * `fails-…` fails, `short-…` takes a moment.
 */
const MUSTER = fileURLToPath(new URL('../bin/muster.js', import.meta.url));
const STAND_IN = `#!/bin/sh
echo "$MUSTER_ACTION_ID $MUSTER_ATTEMPT $*" >> "$STAGE/record"
echo "this is $3"
case "$3" in
  gate-*) while [ ! -e "$STAGE/open-$3" ]; do sleep 0.02; done ;;
  fails-*) echo "it went wrong" >&2; exit 7 ;;
  short-*) sleep 0.05 ;;
esac
echo "$MUSTER_ACTION_ID $MUSTER_ATTEMPT" >> "$STAGE/finished"
`;

export interface Call {
  readonly id: string;
  readonly attempt: number;
  readonly words: string;
}

export async function agentStage(settings: Record<string, string> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-agent-'));
  const at = (...names: string[]) => path.join(folder, ...names);
  const operator = randomBytes(24).toString('hex');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const database = await makeDatabase(at('data'));
  mkdirSync(at('bin'));
  writeFileSync(at('bin', 'systemctl'), STAND_IN);
  chmodSync(at('bin', 'systemctl'), 0o755);
  writeFileSync(at('units'), '# what this host allows\n');
  const environment = { PATH: `${at('bin')}:${process.env.PATH}`, STAGE: folder, HOME: folder };

  const server = processOf([MUSTER, 'serve'], /Muster listens on/, {
    ...environment,
    ...database.environment,
    PORT: String(port),
    MUSTER_OPERATOR_TOKEN: operator,
    MUSTER_LOG_LEVEL: 'warn',
    ...settings,
  });
  const agent = processOf(
    [
      MUSTER,
      'agent',
      '--server',
      url,
      '--token-file',
      at('token'),
      '--allow-file',
      at('units'),
      '--state-dir',
      at('state'),
    ],
    /The agent asks/,
    environment,
  );

  async function call(method: string, where: string, body?: object, headers: Record<string, string> = {}) {
    const response = await fetch(url + where, {
      method,
      headers: {
        authorization: `Bearer ${operator}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  await server.start();
  const host = await call('POST', '/api/hosts', { name: 'stage' });
  writeFileSync(at('token'), host.agentToken);

  const lines = (name: string) =>
    existsSync(at(name)) ? readFileSync(at(name), 'utf8').split('\n').filter(Boolean) : [];

  return {
    url,
    hostId: host.id as string,
    agentToken: host.agentToken as string,
    folder,
    server,
    agent,
    call,
    async service(unitName: string, allowed = true): Promise<string> {
      if (allowed) writeFileSync(at('units'), `${unitName}\n`, { flag: 'a' });
      return (await call('POST', `/api/hosts/${host.id}/services`, { unitName })).id;
    },
    async queue(serviceId: string, kind = 'restart', key?: string): Promise<string> {
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      return (await call('POST', `/api/hosts/${host.id}/actions`, { serviceId, kind }, headers)).id;
    },
    look: (id: string) => call('GET', `/api/hosts/${host.id}/actions/${id}`),
    openGate: (unit: string) => writeFileSync(at(`open-${unit}`), ''),
    /** Every call of the stand-in, in order. */
    record: (): Call[] =>
      lines('record').map((line) => {
        const [id = '', attempt = '', ...words] = line.split(' ');
        return { id, attempt: Number(attempt), words: words.join(' ') };
      }),
    finished: () => lines('finished'),
    async close() {
      await agent.kill();
      await server.kill();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type AgentStage = Awaited<ReturnType<typeof agentStage>>;

/** Looks until it is so. How long that takes is not what is tested. */
export async function until<T>(look: () => Promise<T> | T): Promise<NonNullable<T>> {
  for (;;) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

function processOf(args: string[], ready: RegExp, environment: Record<string, string>) {
  let child: ChildProcess | undefined;
  let output = '';

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return ending?.exitCode ?? null;
    const gone = once(ending, 'exit');
    ending.kill(signal);
    await gone;
    return ending.exitCode;
  }

  return {
    output: () => output,
    async start(): Promise<void> {
      const started = spawn(process.execPath, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
      child = started;
      let own = '';
      await new Promise<void>((resolve, reject) => {
        for (const stream of [started.stdout, started.stderr])
          stream.on('data', (chunk) => {
            output += chunk;
            own += chunk;
            if (ready.test(own)) resolve();
          });
        started.once('exit', (code) => reject(new Error(`It ended with ${code}:\n${own}`)));
      });
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

async function makeDatabase(dataDir: string) {
  const adminUrl = inject('database') === 'postgres' ? inject('postgresUrl') : undefined;
  if (adminUrl === undefined) return { environment: { MUSTER_DATA_DIR: dataDir }, drop: async () => {} };
  const name = `muster_agent_${randomBytes(6).toString('hex')}`;
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  await admin(adminUrl, `create database ${name}`);
  return {
    environment: { DATABASE_URL: url.href, MUSTER_DATA_DIR: dataDir },
    drop: () => admin(adminUrl, `drop database ${name} with (force)`),
  };
}

async function admin(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
