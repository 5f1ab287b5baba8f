import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { findPostgres } from '../../../testing/postgres-binaries.mjs';
import type { Cluster } from '../../../testing/postgres-cluster.mjs';

/**
 * Executes commands of docs/operations.md as they stand there, in one shell per block; only paths and moments are replaced. What
 * `systemctl` and `muster` do is up to the test; everything else runs as the user of the database server, also what the page
 * gives to root.
 */
export interface Host {
  readonly cluster: Cluster;
  /** For the shell, besides the address of the cluster. */
  readonly environment?: Readonly<Record<string, string>>;
  /** By the words in the page. */
  readonly replaced?: Readonly<Record<string, string>>;
  /** By its words; one that throws has failed. */
  readonly systemctl: Service;
  muster?(args: string[]): unknown;
}

export type Service = Readonly<Record<string, () => unknown>>;

const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
/** `set -e` would hide that a person's shell goes on with the next line. */
const STOPS_AT_ERRORS = '-euc';
const GOES_ON = '-uc';
const SHELL = `
ask() { exec 9<>"/dev/tcp/127.0.0.1/$ASK_PORT"; echo "$*" >&9; read -r said <&9; exec 9>&-; [ "$said" = done ] || { echo "$said" >&2; return 1; }; }
systemctl() { ask systemctl "$@"; }
muster() { ask muster "$@"; }
runuser() { shift 3; "$@"; }
chown() { :; }
`;

/** Of the block that begins with this comment; returns what they print. `isPasted`: all lines, whatever fails before. */
export async function followDocs(title: string, host: Host, { isPasted = false } = {}): Promise<string> {
  const [, block] = new RegExp(`\`\`\`sh\\n# ${title}\\n(.*?)\`\`\``, 's').exec(page) ?? [];
  if (block === undefined) throw new Error(`docs/operations.md has no commands "${title}".`);
  const asked = createServer((socket) => {
    socket.on('error', () => {});
    createInterface(socket).once('line', async (line) => {
      const said = await carryOut(line, host).then(
        () => 'done',
        (error: Error) => error.message.replaceAll('\n', ' '),
      );
      socket.end(`${said}\n`);
    });
  }).listen(0, '127.0.0.1');
  await once(asked, 'listening');
  try {
    return await shell(block, host, (asked.address() as AddressInfo).port, isPasted);
  } finally {
    asked.close();
  }
}

async function carryOut(line: string, host: Host): Promise<void> {
  const [program, ...args] = line.split(' ');
  if (program === 'muster') await host.muster?.(args);
  else await (host.systemctl[args.join(' ')] ?? unknown(line))();
}

function unknown(line: string): never {
  throw new Error(`The test does not know what "${line}" does.`);
}

async function shell(block: string, host: Host, asked: number, isPasted: boolean): Promise<string> {
  const { cluster, environment, replaced } = host;
  const bin = findPostgres()?.bin;
  const folder = path.dirname(cluster.dataDir);
  const paths = {
    '/usr/lib/postgresql/15/bin': `${bin}`,
    '/var/lib/postgresql/15/main': cluster.dataDir,
    '/etc/postgresql/15/main': cluster.dataDir,
    '/var/log/postgresql/postgresql-15-main.log': path.join(folder, 'server.log'),
  };
  const text = Object.entries({ ...paths, ...replaced }).reduce(
    (words, [from, to]) => words.replaceAll(from, to),
    block,
  );
  const { uid, gid } = statSync(folder);
  const child = spawn('bash', [isPasted ? GOES_ON : STOPS_AT_ERRORS, SHELL + text], {
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
    cwd: folder,
    env: {
      ASK_PORT: String(asked),
      PATH: `${bin}:${process.env.PATH}`,
      PGHOST: '127.0.0.1',
      PGPASSWORD: cluster.password,
      PGPORT: String(cluster.port),
      PGUSER: 'postgres',
      ...environment,
    },
  });
  let [out, errors] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`${text}\nended with ${status}: ${errors}${out}`);
  return out;
}

const UNIT = 'postgresql@15-main';

/** What `systemctl` does to the server of a cluster. A masked one is stopped, and does not start. */
export function serviceOf(cluster: Cluster): Service {
  let isMasked = false;
  const start = async () => {
    if (isMasked) throw new Error(`Unit ${UNIT} is masked.`);
    await cluster.up();
  };
  return {
    [`stop ${UNIT}`]: () => cluster.down('fast'),
    [`start ${UNIT}`]: start,
    [`restart ${UNIT}`]: async () => {
      await cluster.down('fast');
      await start();
    },
    [`mask --now ${UNIT}`]: async () => {
      isMasked = true;
      await cluster.down('fast');
    },
    [`unmask ${UNIT}`]: () => {
      isMasked = false;
    },
    [`is-active --quiet ${UNIT}`]: () => {
      if (!existsSync(path.join(cluster.dataDir, 'postmaster.pid')))
        throw new Error(`${UNIT} is not active.`);
    },
  };
}
