import { existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { AllowList, createAgent, enrol, systemctl } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { inheritedEnvironment } from '../config.ts';
import { FolderInUseError, takeLock } from '../data-folder/lock.ts';

/** `muster agent`: the agent of this host, until it is told to stop. A second signal ends its commands too. */
export interface AgentFlags {
  readonly server: string;
  readonly tokenFile: string;
  readonly allowFile: string;
  readonly stateDir: string;
  readonly maxRunning: string;
  readonly timeout: string;
  readonly grace: string;
  readonly enrolmentTokenFile?: string;
  readonly name?: string;
}

const log = {
  info: (sentence: string) => console.log(sentence),
  warn: (sentence: string) => console.error(sentence),
};

export async function agent(flags: AgentFlags): Promise<number> {
  const server = readServer(flags.server);
  const folder = path.resolve(flags.stateDir);
  const maxRunning = wholeNumber(flags.maxRunning, '--max-running', 1, 1_000);
  const timeoutMs = wholeNumber(flags.timeout, '--timeout', 1, 86_400) * 1_000;
  const graceMs = wholeNumber(flags.grace, '--grace', 0, 3_600) * 1_000;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(folder);
  try {
    if (flags.enrolmentTokenFile !== undefined && !existsSync(flags.tokenFile))
      await enrolHost(flags, server, folder);
    const one = createAgent({
      server,
      token: () => readSecret(flags.tokenFile),
      folder,
      execute: systemctl({
        allowed: new AllowList(flags.allowFile),
        timeoutMs,
        environment: inheritedEnvironment(),
      }),
      maxRunning,
      graceMs,
      log,
    });
    await readSecret(flags.tokenFile); // better now than at every poll
    let signals = 0;
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        signals += 1;
        if (signals > 1) process.exit(130);
        one.stop();
      });
    log.info(`The agent asks ${server} for work.`);
    await one.run();
    log.info('The agent has stopped.');
    return 0;
  } finally {
    lock.release();
  }
}

async function enrolHost(flags: AgentFlags, server: string, folder: string): Promise<void> {
  const host = await enrol({
    server,
    enrolmentToken: await readSecret(flags.enrolmentTokenFile as string),
    name: flags.name ?? hostname(),
    folder,
    tokenFile: flags.tokenFile,
  }).catch((error: Error) => {
    throw new CommandError(`This host could not be registered: ${error.message}`);
  });
  log.info(`This host is registered as ${host.name} (${host.id}); its token is in ${flags.tokenFile}.`);
}

function readServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new CommandError('--server must be an address like https://muster.example.org.');
  if (url.protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname))
    log.warn('The token goes over the network in clear text. Use https.');
  return text;
}

async function readSecret(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').then(
    (read) => read.trim(),
    (error: Error) => {
      throw new CommandError(`The token cannot be read: ${error.message}`);
    },
  );
  if (!/^[\x21-\x7e]+$/.test(text)) throw new CommandError(`The file ${file} does not hold a token.`);
  return text;
}

function wholeNumber(text: string, name: string, from: number, to: number): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) < from || Number(text) > to)
    throw new CommandError(`${name} must be a whole number from ${from} to ${to}.`);
  return Number(text);
}

/** Two agents with one journal would both deliver what is in it. */
function lockFolder(folder: string): { release(): void } {
  try {
    return takeLock(folder);
  } catch (error) {
    if (error instanceof FolderInUseError)
      throw new CommandError(
        `Another agent (process ${error.pid}) uses ${folder}. Stop it, or choose another --state-dir.`,
      );
    throw error;
  }
}
