import { existsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { findServer } from '../command-socket/client.ts';
import { socketPath } from '../command-socket/socket-path.ts';
import type { Finding } from '../commands/inspect.ts';
import { type Config, complaints, readConfig, unknownSettings } from '../config.ts';
import { canWrite } from '../data-folder/can-write.ts';
import { dataFolder } from '../data-folder/data-folder.ts';
import { ownerOf } from '../data-folder/lock.ts';
import { runCommand } from './run-command.ts';
import { sentenceOf } from './sentence.ts';

/** `muster doctor`: checks everything that a new installation can have wrong, in plain sentences. Changes nothing. */
export async function doctor(): Promise<number> {
  const findings: Finding[] = [];
  const found = (...more: Finding[]) => {
    for (const finding of more) console.log(finding);
    findings.push(...more);
  };
  found(node());
  found(...settings());
  if (!findings.some((finding) => finding.startsWith('wrong: '))) {
    const config = readConfig();
    found(...(await folder(config)));
    found(...(await database(config)));
    found(await port(config));
  }
  const wrong = findings.filter((finding) => finding.startsWith('wrong')).length;
  console.log(
    wrong === 0 ? 'No problems found.' : `${wrong} ${wrong === 1 ? 'thing is' : 'things are'} wrong.`,
  );
  return wrong === 0 ? 0 : 1;
}

const [OLDEST_MAJOR, OLDEST_MINOR] = [20, 19];

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fine = major > OLDEST_MAJOR || (major === OLDEST_MAJOR && minor >= OLDEST_MINOR);
  return fine
    ? `ok: Node ${process.versions.node} is new enough.`
    : `wrong: Node ${process.versions.node} is too old. Install ${OLDEST_MAJOR}.${OLDEST_MINOR} or newer.`;
}

const NO_KEY: Finding =
  'note: MUSTER_SECRETS_KEY is not set. Webhooks, callbacks and push certificates need it: openssl rand -base64 32';

function settings(): Finding[] {
  const wrong = complaints().map((sentence): Finding => `wrong: ${sentence}`);
  const unknown = unknownSettings().map(
    (name): Finding => `note: ${name} is set, but there is no such setting.`,
  );
  if (wrong.length > 0) return [...wrong, ...unknown];
  const { DATABASE_URL: url, MUSTER_SECRETS_KEY: key } = readConfig();
  return ['ok: All settings are valid.', ...(url !== null && key === null ? [NO_KEY] : []), ...unknown];
}

async function folder(config: Config): Promise<Finding[]> {
  const { path, database: db } = dataFolder(config.MUSTER_DATA_DIR);
  if (!existsSync(path))
    return canWrite(path)
      ? [`ok: The data folder ${path} does not exist yet; the first start creates it.`]
      : [`wrong: This user cannot create the data folder ${path}. Set MUSTER_DATA_DIR to another one.`];
  if (!canWrite(path)) return [`wrong: This user cannot write to the data folder ${path}.`];
  const open = (statSync(path).mode & 0o077) !== 0;
  const findings: Finding[] = [
    open
      ? `note: Other users can read the data folder ${path}; the next start makes it private.`
      : `ok: The data folder ${path} is private.`,
  ];
  if (config.DATABASE_URL !== null && existsSync(db))
    findings.push(
      `note: DATABASE_URL is set, so the embedded database in ${db} is not used. To move it, use "muster export" and "muster import".`,
    );
  return findings;
}

async function database(config: Config): Promise<Finding[]> {
  const { path, database: db } = dataFolder(config.MUSTER_DATA_DIR);
  if (config.DATABASE_URL === null) {
    if (!existsSync(db)) return ['ok: There is no embedded database yet; the first start creates it.'];
    const pid = ownerOf(path);
    const server = await findServer(socketPath(path));
    server?.destroy();
    if (pid !== null && !server)
      return [
        `note: Process ${pid} uses the data folder and does not answer. It may be starting or stopping.`,
      ];
    if (server) console.log(`ok: The server is running${pid === null ? '' : ` as process ${pid}`}.`);
  }
  const findings: Finding[] = [];
  try {
    const out = {
      say: (line: string) => void findings.push(line as Finding),
      note: () => {},
      data: async () => {},
    };
    await runCommand('inspect', {}, out, config);
    return findings;
  } catch (error) {
    return [...findings, `wrong: ${sentenceOf(error, '')}`];
  }
}

async function port({ HOST, PORT }: Config): Promise<Finding> {
  const probe = createServer();
  const code = await new Promise<string | null>((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    probe.listen(PORT, HOST, () => probe.close(() => resolve(null)));
  });
  if (code === null) return `ok: Port ${PORT} on ${HOST} is free.`;
  if (code !== 'EADDRINUSE') return `wrong: Port ${PORT} on ${HOST} cannot be used (${code}).`;
  const isMuster = await fetch(`http://${HOST === '0.0.0.0' ? '127.0.0.1' : HOST}:${PORT}/healthz`).then(
    async (reply) => reply.ok && (await reply.text()).includes('"status":"ok"'),
    () => false,
  );
  return isMuster
    ? `ok: Port ${PORT} on ${HOST} is in use by a Muster server that answers.`
    : `wrong: Port ${PORT} on ${HOST} is in use by another program. Stop it, or set PORT.`;
}
