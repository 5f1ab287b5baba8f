import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { askServer, findServer } from '../command-socket/client.ts';
import { socketPath } from '../command-socket/socket-path.ts';
import { CommandError, type Out } from '../commands/command.ts';
import { type CommandName, commandOf } from '../commands/index.ts';
import { runOn } from '../commands/run.ts';
import { type Config, readConfig } from '../config.ts';
import { dataFolder } from '../data-folder/data-folder.ts';
import { FolderInUseError } from '../data-folder/lock.ts';
import { openDatabase } from '../database/open-database.ts';
import { MusterError } from '../errors.ts';
import { exitCodeOf } from './operator/exit-codes.ts';
import { withCode } from './operator/run.ts';
import { terminal } from './out.ts';
import { sentenceOf } from './sentence.ts';

const PATIENCE_MS = 15_000;
const LOOK_AGAIN_MS = 100;

/**
 * Runs a command on the PostgreSQL server of the settings; or inside the running server of the data folder; or, if
 * there is none, on the embedded database, under its lock.
 */
export async function runCommand(
  name: CommandName,
  args: object,
  out: Out = terminal(),
  config: Config = readConfig(),
): Promise<number> {
  if (config.DATABASE_URL !== null) return runHere(config, name, args, out);
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const server = await findServer(socketPath(config.MUSTER_DATA_DIR));
    if (server) return askServer(server, { command: name, args }, out).finally(() => server.destroy());
    try {
      return await runHere(config, name, args, out);
    } catch (error) {
      // A starting server holds the folder before it listens; a stopping one holds it after.
      if (!(error instanceof FolderInUseError) || performance.now() > until) throw error;
      await pause(LOOK_AGAIN_MS);
    }
  }
}

async function runHere(config: Config, name: CommandName, args: object, out: Out): Promise<number> {
  const { path, database } = dataFolder(config.MUSTER_DATA_DIR);
  // a database created by a read-only command would be mistaken for the intended installation
  if (config.DATABASE_URL === null && !commandOf(name).mayBegin && !existsSync(database))
    throw new CommandError(
      `There is no Muster database in ${path}. Run this in the folder where the server was started, or set MUSTER_DATA_DIR or DATABASE_URL.`,
    );
  const opened = await openDatabase(config, () => {});
  try {
    return await runOn({ config, db: opened.db }, name, args, out);
  } finally {
    await opened.close();
  }
}

/** For commander: errors become a sentence and an exit code. */
export function command<Args extends unknown[]>(run: (...args: Args) => Promise<number>) {
  return async (...args: Args): Promise<void> => {
    try {
      process.exitCode = await run(...args);
    } catch (error) {
      console.error(error instanceof MusterError ? withCode(error) : sentenceOf(error));
      process.exitCode = exitCodeOf(error);
    }
  };
}
