import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { AllowList, createAgent, enrol, systemctl } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { inheritedEnvironment } from '../config.ts';
import {
  folderTrouble,
  lockFolder,
  log,
  readSecret,
  readServer,
  stopOnSignals,
  wholeNumber,
} from './client-process.ts';

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

export async function agent(flags: AgentFlags): Promise<number> {
  const server = readServer(flags.server);
  const folder = path.resolve(flags.stateDir);
  const maxRunning = wholeNumber(flags.maxRunning, '--max-running', 1, 1_000);
  const timeoutMs = wholeNumber(flags.timeout, '--timeout', 1, 86_400) * 1_000;
  const graceMs = wholeNumber(flags.grace, '--grace', 0, 3_600) * 1_000;
  const allowed = new AllowList(flags.allowFile);
  const lock = lockFolder(folder, 'agent');
  try {
    if (flags.enrolmentTokenFile !== undefined && !existsSync(flags.tokenFile))
      await enrolHost(flags, server, folder);
    const one = createAgent({
      server,
      token: () => readSecret(flags.tokenFile),
      folder,
      execute: systemctl({ allowed, timeoutMs, environment: inheritedEnvironment() }),
      maxRunning,
      graceMs,
      log,
    });
    await readSecret(flags.tokenFile); // better now than at every poll
    const nothing = await allowed.whyNothing();
    if (nothing) log.warn(nothing);
    stopOnSignals(one);
    log.info(`The agent asks ${server} for work.`);
    await one.run().catch((error) => {
      throw folderTrouble(folder, error);
    });
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
