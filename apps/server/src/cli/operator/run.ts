import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT, exitCodeOf, isUnanswered } from './exit-codes.ts';
import { openSession, type Session, type Surroundings } from './session.ts';

/** How a command ends: with its exit code after running, or at once if its arguments are invalid. */
export interface Ways {
  end(code: number): void;
  leave(code: number): never;
}

/** The groups of an operator's commands: `muster action …`, `muster device …`. */
export interface Group {
  /** Adds a command; what `run` returns is the exit code. */
  add<Args extends readonly unknown[]>(
    usage: string,
    description: string,
    options: readonly Option[],
    run: (session: Session, ...args: Args) => Promise<number>,
  ): void;
}

export function group(
  program: Command,
  around: Surroundings,
  name: string,
  description: string,
  { end }: Ways,
): Group {
  const parent = program.command(name).description(description);
  return {
    add(usage, text, options, run) {
      const command = parent.command(usage).description(text);
      for (const option of options) command.addOption(option);
      command.option('--json', 'print the response as one line of JSON');
      command.action(async (...given: unknown[]) => {
        // commander passes the arguments, the options and itself
        const { json = false, ...options } = given.at(-2) as { json?: boolean };
        const args = [...given.slice(0, -2), options] as never;
        try {
          end(await run(openSession(around, { json }), ...args));
        } catch (error) {
          around.note(sentenceOf(error, around.env.MUSTER_URL));
          end(exitCodeOf(error));
        }
      });
    },
  };
}

/** Invalid arguments have one exit code in every group, including the installation's own commands. */
export function endOnWrongWords(command: Command, leave: Ways['leave']): void {
  command.exitOverride((error) => leave(error.exitCode === 0 ? EXIT.done : EXIT.usage));
  for (const one of command.commands) endOnWrongWords(one, leave);
}

function sentenceOf(error: unknown, url = 'the server of this machine'): string {
  if (isUnanswered(error))
    return `No answer from ${url}: ${error.cause.message || (error.cause as NodeJS.ErrnoException).code}. Is MUSTER_URL right, and is the server running?`;
  if (!(error instanceof Error)) return String(error);
  return withCode(error);
}

export function withCode(error: Error & { readonly code?: string | null }): string {
  const { code, message } = error;
  return code && !message.includes(code) ? `${message} (${code})` : message;
}

/** Options shared by several commands. */
export const OPTIONS = {
  all: () => new Option('--all', 'all pages, not only the first'),
  clearError: () => new Option('--clear-error', 'also for devices in error; clears their error'),
  device: () => new Option('--device <device>', 'only of this device (id or name)'),
  kind: () => new Option('--kind <kind>', 'only of this kind'),
  lane: () =>
    new Option(
      '--lane <name>',
      'only in this lane, written as in TARGET: device:12, service:3 or night-jobs',
    ),
  limit: () => new Option('--limit <n>', 'how many at most').argParser(wholeNumber(1, 500)),
  reason: () => new Option('--reason <text>', 'the reason, kept in the history'),
  tag: () => new Option('--tag <tag>', 'with this tag'),
  wait: () => new Option('--wait', 'wait until it ends; exits with 6 unless it succeeds'),
  yes: () => new Option('--yes', 'apply to all that match, without ids'),
};

export const wholeNumber = (least: number, most: number) => (text: string) => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > most)
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return number;
};

/** One page, or all of them one after the other. */
export async function pages<Row>(
  read: (place: { cursor?: string; limit?: number }) => Promise<{ rows: Row[]; cursor: string | null }>,
  { all, limit }: { readonly all?: boolean; readonly limit?: number },
): Promise<{ rows: Row[]; cursor: string | null }> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: { rows: Row[]; cursor: string | null } = await read({
      ...(cursor ? { cursor } : {}),
      ...(limit ? { limit } : {}),
    });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (all && cursor);
  return { rows, cursor };
}

/**
 * The table, and a note if there is more than it shows; `looked`: how many were searched for a page that is not full.
 */
export const withMore = (
  lines: readonly string[],
  cursor: string | null,
  looked?: number,
): readonly string[] => {
  if (!cursor) return lines;
  return [
    ...lines,
    looked === undefined
      ? 'There are more; use --all to show everything.'
      : `Only the newest ${looked} were searched; use --all to search everything.`,
  ];
};
