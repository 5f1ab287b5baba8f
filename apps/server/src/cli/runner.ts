import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { createRunner, ServerRefused } from '@muster/agent';
import { CommandError } from '../commands/command.ts';
import { inheritedEnvironment } from '../config.ts';
import {
  folderTrouble,
  lockFolder,
  log,
  readSecret,
  readServer,
  reasonOf,
  stopOnSignals,
  wholeNumber,
} from './client-process.ts';

/** `muster runner`: the runner of a PC, until it is told to stop. docs/runner.md has the exit codes. */
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

const DONE = 0;
const REFUSED = 2;
const NOT_DELIVERED = 3;

export async function runner(flags: RunnerFlags): Promise<number> {
  const server = readServer(flags.server);
  const script = path.resolve(flags.exec);
  const folder = path.resolve(flags.stateDir);
  const pcId = flags.pc;
  if (!/^[1-9]\d{0,17}$/.test(pcId))
    throw new CommandError('--pc must be the id of a PC, which is a number.');
  const maxRunning = wholeNumber(flags.maxRunning, '--max-running', 1, 1_000);
  const heartbeatMs = wholeNumber(flags.heartbeat, '--heartbeat', 1, 3_600) * 1_000;
  const graceMs = wholeNumber(flags.grace, '--grace', 0, 86_400) * 1_000;
  const obstacle = await whyNotRun(script);
  if (obstacle) throw new CommandError(obstacle);
  const token = () => readRunnerToken(flags.tokenFile);
  await token(); // better now than at every claim
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
      obstacle: () => whyNotRun(script),
    });
    stopOnSignals(one);
    log.info(`The runner of PC ${pcId} asks ${server} for work.`);
    const { undelivered } = await one.run();
    if (undelivered === 0) log.info('The runner has stopped.');
    else
      log.warn(
        `The runner has stopped. The server does not have ${undelivered} of its results yet; they are in ${folder}, and the next start delivers them.`,
      );
    return undelivered === 0 ? DONE : NOT_DELIVERED;
  } catch (error) {
    if (!(error instanceof ServerRefused)) throw folderTrouble(folder, error);
    log.warn(`The server refuses the token in ${flags.tokenFile} for PC ${pcId}: ${error.message}`);
    return REFUSED;
  } finally {
    lock.release();
  }
}

/** An operator's token may look at a PC as well; what it then sees must not be run. */
async function readRunnerToken(file: string): Promise<string> {
  const token = await readSecret(file);
  if (!token.startsWith('mst_runner_'))
    throw new CommandError(
      `The file ${file} does not hold the token of a runner, which begins with mst_runner_. POST /api/pcs shows one.`,
    );
  return token;
}

/** Asked before every claim: a script that is gone for a moment must not fail every device of the task. */
async function whyNotRun(script: string): Promise<string | null> {
  try {
    if (!(await stat(script)).isFile()) return `--exec ${script} is not a file.`;
    await access(script, constants.X_OK);
    return null;
  } catch (caught) {
    const error = caught as NodeJS.ErrnoException;
    if (error.code === 'EACCES')
      return `--exec ${script} may not be run. Make it executable: chmod +x ${script}`;
    return ['ENOENT', 'ENOTDIR'].includes(error.code ?? '')
      ? `--exec ${script} does not exist.`
      : `--exec ${script} cannot be run (${reasonOf(error)}).`;
  }
}
