import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type CommandContext, CommandError, type Out } from '../commands/command.ts';
import { commandOf, isCommandName } from '../commands/index.ts';
import { runOn } from '../commands/run.ts';
import { MusterError } from '../errors.ts';
import type { Log } from '../http/logging.ts';
import type { FromServer, ToServer } from './messages.ts';

/**
 * The embedded database has one owner, so while a server runs, the command line asks it, over a socket that only the
 * owner of the data folder can open.
 */
export async function listenForCommands(
  file: string,
  context: CommandContext,
  log: Log,
): Promise<{ stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    answer(socket, context, log).catch((error) => {
      log.warn({ err: error }, 'A command of the command line failed.');
      socket.destroy();
    });
  });
  rmSync(file, { force: true }); // left by a killed server: the holder of the folder's lock owns the socket
  const umask = process.umask(0o177);
  server.listen(file);
  process.umask(umask);
  await once(server, 'listening');
  return {
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(socket: Socket, context: CommandContext, log: Log): Promise<void> {
  const send = (message: FromServer) => socket.write(`${JSON.stringify(message)}\n`);
  const out: Out = {
    say: (line) => void send({ say: line }),
    note: (line) => void send({ note: line }),
    async data(text) {
      if (socket.destroyed || (!send({ data: text }) && !(await isDrained(socket))))
        throw new CommandError('The command line disconnected.');
    },
  };
  const lines = createInterface({ input: socket });
  // It emits an error of the socket once more, after the first line without a listener, which would end the server.
  lines.on('error', () => {});
  for await (const line of lines) {
    const { command, args } = JSON.parse(line) as ToServer;
    try {
      if (!isCommandName(command)) throw new CommandError(`This server has no command "${command}".`);
      if (!commandOf(command).besideServer)
        throw new CommandError('This cannot be done while the server is running. Stop it first.');
      send({ end: await runOn(context, command, args, out) });
    } catch (error) {
      const said = sayable(error);
      if (!said) log.error({ err: error, command }, 'A command failed.');
      send(said ?? { error: `The command failed: ${String(error)}` });
    }
    socket.end();
    return;
  }
}

/** Null: not meant for people. */
function sayable(error: unknown): FromServer | null {
  if (error instanceof MusterError) return { error: error.message, code: error.code, status: error.status };
  return error instanceof CommandError ? { error: error.message } : null;
}

/** False: the other side is gone. */
async function isDrained(socket: Socket): Promise<boolean> {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]);
    return !socket.destroyed;
  } catch {
    return false;
  } finally {
    over.abort(); // the client is gone, however many parts are left
  }
}
