import { committedCatalogue, migrations } from '../database/migrations.ts';
import type { Command, CommandContext } from './command.ts';
import { table } from './table.ts';

/** `muster migrate …` */
type NoArgs = Record<string, never>;

function migrate({ config, db }: CommandContext) {
  return migrations(db, config.MUSTER_SCHEMA);
}

export const migrateUp: Command<NoArgs> = {
  besideServer: false,
  mayBegin: true,
  needsSchema: false,
  async run(context, _args, out) {
    const done = await migrate(context).up();
    for (const { line, version, name } of done) out.say(`up ${line} ${version} ${name}`);
    if (done.length === 0) out.say('The schema is up to date.');
    return 0;
  },
};

export const migrateDown: Command<{ all?: boolean }> = {
  besideServer: false,
  needsSchema: false,
  async run(context, { all = false }, out) {
    const done = await migrate(context).down(all ? 'all' : 'one');
    for (const { line, version, name } of done) out.say(`down ${line} ${version} ${name}`);
    if (done.length === 0) out.say('There is nothing to revert.');
    return 0;
  },
};

export const migrateList: Command<NoArgs> = {
  besideServer: true,
  needsSchema: false,
  async run(context, _args, out) {
    const rows = (await migrate(context).list()).map(({ line, version, name, appliedAt }) => [
      line,
      String(version),
      name,
      appliedAt?.toISOString() ?? 'not applied',
    ]);
    for (const line of table(['LINE', 'VERSION', 'NAME', 'APPLIED'], rows)) out.say(line);
    return 0;
  },
};

/** Compares the live catalogue with the committed one, line by line. */
export const migrateValidate: Command<NoArgs> = {
  besideServer: true,
  needsSchema: false,
  async run(context, _args, out) {
    await migrate(context).checkFits();
    const differences = await schemaDifferences(context);
    for (const line of differences) out.say(line);
    out.say(
      differences.length === 0
        ? 'The schema is as expected.'
        : `The schema differs in ${differences.length} lines (- missing, + unexpected). "muster migrate up" applies missing migrations.`,
    );
    return differences.length === 0 ? 0 : 1;
  },
};

export async function schemaDifferences(context: CommandContext): Promise<string[]> {
  // a distributed database has the functions in its own words
  const isCompared = (line: string) => !context.db.isDistributed || !line.startsWith('function ');
  const wanted = (await committedCatalogue()).split('\n').filter(isCompared);
  const found = (await migrate(context).catalogue()).split('\n').filter(isCompared);
  const [wantedSet, foundSet] = [new Set(wanted), new Set(found)];
  return [
    ...wanted.filter((line) => !foundSet.has(line)).map((line) => `- ${line}`),
    ...found.filter((line) => !wantedSet.has(line)).map((line) => `+ ${line}`),
  ];
}
