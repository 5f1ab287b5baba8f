import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { findPostgres } from '../../../testing/postgres-binaries.mjs';
import type { Cluster } from '../../../testing/postgres-cluster.mjs';

/**
 * Executes commands of docs/operations.md as they stand there; only paths and moments are replaced. What `systemctl` and
 * `muster` do is up to the test; all other lines are for a shell of the user of the database server.
 */
export interface Host {
  readonly cluster: Cluster;
  /** For the shell. */
  readonly environment: Readonly<Record<string, string>>;
  /** By the words in the page. */
  readonly replaced: Readonly<Record<string, string>>;
  readonly systemctl: Readonly<Record<string, () => Promise<unknown>>>;
  muster?(args: string[]): void;
}

const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');

/** Of the block that begins with this comment. */
export async function followDocs(title: string, host: Host): Promise<void> {
  const [, block] = new RegExp(`\`\`\`sh\\n# ${title}\\n(.*?)\`\`\``, 's').exec(page) ?? [];
  if (block === undefined) throw new Error(`docs/operations.md has no commands "${title}".`);
  let lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) shell(lines.join('\n'), host);
    lines = [];
  };
  for (const line of block.trimEnd().split('\n')) {
    const [, program, words = ''] = /^(systemctl|muster) (.*)$/.exec(line) ?? [];
    if (program === undefined) {
      lines.push(line);
      continue;
    }
    flush();
    if (program === 'muster') host.muster?.(words.split(' '));
    else await (host.systemctl[words] ?? unknown(line))();
  }
  flush();
}

function unknown(line: string): never {
  throw new Error(`The test does not know what "${line}" does.`);
}

function shell(commands: string, { cluster, environment, replaced }: Host): void {
  const text = Object.entries({ '/var/lib/postgresql/15/main': cluster.dataDir, ...replaced }).reduce(
    (words, [from, to]) => words.replaceAll(from, to),
    commands,
  );
  const folder = path.dirname(cluster.dataDir);
  const { uid, gid } = statSync(folder);
  const { status, stderr } = spawnSync('bash', ['-euc', text], {
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${findPostgres()?.bin}:${process.env.PATH}`, ...environment },
  });
  if (status !== 0) throw new Error(`${text}\nended with ${status}: ${stderr}`);
}

/** What `systemctl` does to the server of a cluster. */
export const serviceOf = (cluster: Cluster) => ({
  'stop postgresql': () => cluster.down('fast'),
  'start postgresql': () => cluster.up(),
  'restart postgresql': () => cluster.restart('fast'),
});
