import type { Database } from '@muster/engine';
import type { Config } from '../config.ts';

/**
 * A command of the command line, as a plain function over a database: it runs in the command line's process or, with an
 * embedded server running, inside the server, whose database has one owner. It prints nothing itself.
 */
export interface Out {
  /** A line of the answer. */
  say(line: string): void;
  /** A line for the user, not part of the answer. */
  note(line: string): void;
  /** A chunk of a file; resolves when more may follow. */
  data(text: string): Promise<void>;
}

export interface CommandContext {
  readonly config: Config;
  readonly db: Database;
}

export interface Command<Args> {
  /** False: only while no server runs on the embedded database. */
  readonly besideServer: boolean;
  /** False for commands about the tables themselves; the others need existing tables. */
  readonly needsSchema: boolean;
  /** It may create a new installation; the others need an existing one. */
  readonly mayBegin?: boolean;
  /** The exit code. */
  run(context: CommandContext, args: Args, out: Out): Promise<number>;
}

/** An error that the user can fix; shown without a stack trace. */
export class CommandError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CommandError';
  }
}
