import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { createRunner } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { inheritedEnvironment } from '../config.ts';
import { openAgentTracing } from '../tracing/agent-tracing.ts';
import {
  lockFolder,
  log,
  readServer,
  readTokenOf,
  reasonOf,
  runUntilStopped,
  wholeNumber,
} from './client-process.ts';

/** `muster runner`: the runner of a PC, until it is stopped. docs/runner.md has the exit codes. */
export interface RunnerFlags {
  readonly server: string;
  readonly tokenFile: string;
  readonly pc: string;
  readonly exec: string;
  readonly stateDir: string;
  readonly maxRunning: string;
  readonly heartbeat: string;
  readonly grace: string;
}

export async function runner(flags: RunnerFlags): Promise<number> {
  const server = readServer(flags.server);
  const script = path.resolve(flags.exec);
  const folder = path.resolve(flags.stateDir);
  const pcId = flags.pc;
  if (!/^[1-9]\d{0,17}$/.test(pcId)) throw new CommandError('--pc must be the id of a PC, a number.');
  const maxRunning = wholeNumber(flags.maxRunning, '--max-running', 1, 1_000);
  const heartbeatMs = wholeNumber(flags.heartbeat, '--heartbeat', 1, 3_600) * 1_000;
  const graceMs = wholeNumber(flags.grace, '--grace', 0, 86_400) * 1_000;
  const obstacle = await whyNotRun(script);
  if (obstacle) throw new CommandError(obstacle);
  const token = () => readTokenOf('runner', flags.tokenFile, 'POST /api/pcs');
  await token(); // fail now instead of at every claim
  const tracing = await openAgentTracing('runner', log.warn);
  const lock = lockFolder(folder, 'runner');
  try {
    const one = createRunner({
      server,
      token,
      pcId,
      folder,
      script,
      environment: inheritedEnvironment(),
      maxRunning,
      heartbeatMs,
      graceMs,
      log,
      tracing: tracing ?? undefined,
      obstacle: () => whyNotRun(script),
    });
    log.info(`The runner of PC ${pcId} asks ${server} for work.`);
    return await runUntilStopped(one, {
      program: 'runner',
      folder,
      tokenFile: flags.tokenFile,
      of: `PC ${pcId}`,
    });
  } finally {
    await tracing?.close();
    lock.release();
  }
}

/** Checked before every claim: a script that is missing for a moment must not fail every device of the task. */
async function whyNotRun(script: string): Promise<string | null> {
  try {
    if (!(await stat(script)).isFile()) return `--exec ${script} is not a file.`;
    await access(script, constants.X_OK);
    return null;
  } catch (caught) {
    const error = caught as NodeJS.ErrnoException;
    if (error.code === 'EACCES') return `--exec ${script} is not executable. Run: chmod +x ${script}`;
    return ['ENOENT', 'ENOTDIR'].includes(error.code ?? '')
      ? `--exec ${script} does not exist.`
      : `--exec ${script} cannot be run (${reasonOf(error)}).`;
  }
}
