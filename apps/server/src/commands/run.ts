import { migrations } from '../database/migrations.ts';
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
  return command.run(context, args, out);
}

async function requireSchema({ config, db }: CommandContext): Promise<void> {
  const migrate = migrations(db, config.MUSTER_SCHEMA);
  await migrate.checkFits();
  const missing = (await migrate.list()).some(({ appliedAt }) => appliedAt === null);
  if (missing)
    throw new CommandError(
      'The tables are missing or old. Run "muster migrate up", or start the server once.',
    );
}
