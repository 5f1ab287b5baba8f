import type { Database } from '@muster/engine';
import type { Config } from '../config.ts';

/**
 * A command of the command line, as a plain function over a database: it runs in the process of the command line, or,
 * beside an embedded server, inside the server, whose database has one owner. It prints nothing itself.
 */
export interface Out {
  /** A line of the answer. */
  say(line: string): void;
  /** A line for the person in front of it, not part of the answer. */
  note(line: string): void;
  /** A piece of a file; resolves when more may come. */
  data(text: string): Promise<void>;
}

export interface CommandContext {
  readonly config: Config;
  readonly db: Database;
}

export interface Command<Args> {
  /** False: only while no server runs on the embedded database. */
  readonly besideServer: boolean;
  /** Works on tables, so they must be there; false for commands about the tables themselves. */
  readonly needsSchema: boolean;
  /** It may begin a new installation; the others need one that is there. */
  readonly mayBegin?: boolean;
  /** The exit code. */
  run(context: CommandContext, args: Args, out: Out): Promise<number>;
}

/** Something the person in front of it can do something about; shown without a trace. */
export class CommandError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CommandError';
  }
}
