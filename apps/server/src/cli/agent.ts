import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { AllowList, createAgent, enrol, ServerRefused, systemctl } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { inheritedEnvironment } from '../config.ts';
import { openAgentTracing } from '../tracing/agent-tracing.ts';
import {
  lockFolder,
  log,
  REFUSED,
  readSecret,
  readServer,
  readTokenOf,
  runUntilStopped,
  wholeNumber,
} from './client-process.ts';

/** `muster agent`: the agent of this host, until it is stopped. docs/agent-install.md has the exit codes. */
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
  const tracing = await openAgentTracing('agent', log.warn);
  const lock = lockFolder(folder, 'agent');
  try {
    const { enrolmentTokenFile } = flags;
    if (enrolmentTokenFile !== undefined && !existsSync(flags.tokenFile)) {
      const refused = await enrolHost(flags, enrolmentTokenFile, server, folder);
      if (refused) return REFUSED;
    }
    const token = () => readTokenOf('agent', flags.tokenFile, 'POST /api/hosts');
    await token(); // fail now instead of at every poll
    const one = createAgent({
      server,
      token,
      folder,
      execute: systemctl({ allowed, timeoutMs, environment: inheritedEnvironment() }),
      maxRunning,
      graceMs,
      log,
      tracing: tracing ?? undefined,
    });
    const nothing = await allowed.whyNothing();
    if (nothing) log.warn(nothing);
    log.info(`The agent asks ${server} for work.`);
    return await runUntilStopped(one, { program: 'agent', folder, tokenFile: flags.tokenFile });
  } finally {
    await tracing?.close();
    lock.release();
  }
}

/** Registers the host. Returns whether the server refused the enrolment token. */
async function enrolHost(flags: AgentFlags, file: string, server: string, folder: string): Promise<boolean> {
  const { name = hostname(), tokenFile } = flags;
  const enrolmentToken = await readSecret(file);
  try {
    const host = await enrol({ server, enrolmentToken, name, folder, tokenFile });
    log.info(`This host is registered as ${host.name} (${host.id}); its token is in ${tokenFile}.`);
    return false;
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof ServerRefused) || ![401, 403].includes(error.status))
      throw new CommandError(`Registering this host failed: ${message}`);
    log.warn(`The server rejected the enrolment token in ${file}: ${message}.`);
    return true;
  }
}
