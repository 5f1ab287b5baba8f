import { CommandError, type Out } from '../commands/command.ts';
import { type CommandName, commandOf } from '../commands/index.ts';
import { runOn } from '../commands/run.ts';
import { type Config, readConfig } from '../config.ts';
import { askServer, findServer } from '../control/client.ts';
import { socketPath } from '../control/socket-path.ts';
import { openDatabase } from '../database.ts';
import { terminal } from './out.ts';
import { sentenceOf } from './sentence.ts';

/**
 * Where a command runs: on the PostgreSQL server of the settings; or inside the running server of the data folder; or,
 * if there is none, on the embedded database, under its lock.
 */
export async function runCommand(
  name: CommandName,
  args: object,
  out: Out = terminal(),
  config: Config = readConfig(),
): Promise<number> {
  if (config.DATABASE_URL === null) {
    const server = await findServer(socketPath(config.MUSTER_DATA_DIR));
    if (server) {
      if (!commandOf(name).besideServer) {
        server.destroy();
        throw new CommandError('This cannot be done while the server is running. Stop it first.');
      }
      return askServer(server, { command: name, args }, out).finally(() => server.destroy());
    }
  }
  const opened = await openDatabase(config, () => {});
  try {
    return await runOn({ config, db: opened.db }, name, args, out);
  } finally {
    await opened.close();
  }
}

/** For commander: what goes wrong is a sentence and an exit code. */
export function command<Args extends unknown[]>(run: (...args: Args) => Promise<number>) {
  return async (...args: Args): Promise<void> => {
    try {
      process.exitCode = await run(...args);
    } catch (error) {
      console.error(sentenceOf(error));
      process.exitCode = 1;
    }
  };
}
