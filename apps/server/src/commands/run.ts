import { migrations } from '../database/migrations.ts';
import { missingStandby } from '../database/missing-standby.ts';
import { type CommandContext, CommandError, type Out } from './command.ts';
import { type CommandName, commandOf } from './index.ts';

/** Runs a command on an open database. */
export async function runOn(
  context: CommandContext,
  name: CommandName,
  args: unknown,
  out: Out,
): Promise<number> {
  const command = commandOf(name);
  if (command.needsSchema) await requireSchema(context);
  const noting = noteWait(context, out);
  try {
    return await command.run(context, args, out);
  } finally {
    clearTimeout(noting);
  }
}

/** Some commands have no time limit, and no time limit ends the wait of a commit: a silent one looks like a long one. */
const SAYS_AFTER_MS = 3_000;

function noteWait({ db }: CommandContext, out: Out): NodeJS.Timeout | undefined {
  if (db.kind !== 'postgres') return undefined;
  return setTimeout(async () => {
    // the command itself reports a database that does not answer
    const sentence = await missingStandby(db.reserved).catch(() => null);
    if (sentence !== null) out.note(sentence);
  }, SAYS_AFTER_MS);
}

async function requireSchema({ config, db }: CommandContext): Promise<void> {
  const migrate = migrations(db, config.MUSTER_SCHEMA);
  await migrate.checkFits();
  if ((await migrate.missing()).length > 0)
    throw new CommandError(
      'The tables are missing or old. Run "muster migrate up", or start the server once.',
    );
}
