import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { CommandError, type Out } from '../commands/command.ts';
import { MusterError } from '../errors.ts';
import type { FromServer, ToServer } from './messages.ts';

/** No server listens: no file, the file of a killed server, or an impossible name. */
const NOBODY = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK', 'EINVAL']);

/** The running server of a data folder, or null. */
export async function findServer(file: string): Promise<Socket | null> {
  const socket = connect(file);
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (NOBODY.has(code)) return null;
    if (code === 'EACCES')
      throw new CommandError(`The running server belongs to another user: cannot open ${file}.`);
    throw error;
  }
}

/** Lets the server run a command; returns the exit code. */
export async function askServer(socket: Socket, message: ToServer, out: Out): Promise<number> {
  socket.write(`${JSON.stringify(message)}\n`);
  for await (const line of linesOf(socket)) {
    const told = JSON.parse(line) as FromServer;
    if ('say' in told) out.say(told.say);
    else if ('note' in told) out.note(told.note);
    else if ('data' in told) await out.data(told.data);
    else if ('error' in told) throw errorOf(told);
    else return told.end;
  }
  throw new CommandError('The server stopped before the command was done.');
}

function errorOf({ error, code, status }: Extract<FromServer, { error: string }>): Error {
  return code === undefined || status === undefined
    ? new CommandError(error)
    : new MusterError(code, status, error);
}

/** Until the server closes the connection or is gone. */
async function* linesOf(socket: Socket): AsyncGenerator<string> {
  const lines = createInterface({ input: socket });
  try {
    yield* lines;
  } catch {
    // killed: its end message is missing, which is an error above
  }
}
