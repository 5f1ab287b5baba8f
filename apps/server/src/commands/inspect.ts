import { migrations } from '../database/migrations.ts';
import { missingStandby } from '../database/missing-standby.ts';
import type { Command, CommandContext } from './command.ts';
import { schemaDifferences } from './migrate.ts';

/** What `muster doctor` reports about a database, as sentences marked ok, note or wrong. */
const OLDEST_SERVER = 150_000;
const LARGEST_DIFFERENCE_MS = 2_000;

export type Finding = `${'ok' | 'note' | 'wrong'}: ${string}`;

export const inspect: Command<Record<string, never>> = {
  besideServer: true,
  needsSchema: false,
  async run(context, _args, out) {
    const findings = [
      await version(context),
      await clock(context),
      await durability(context),
      ...(await standby(context)),
      ...(await schema(context)),
    ];
    for (const finding of findings) out.say(finding);
    return findings.some((finding) => finding.startsWith('wrong')) ? 1 : 0;
  },
};

async function version({ db }: CommandContext): Promise<Finding> {
  const { rows } = await db.query({
    text: `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  });
  const [{ number, version: text }] = rows as [{ number: number; version: string }];
  if (number < OLDEST_SERVER) return `wrong: The database is PostgreSQL ${text}; 15 or newer is required.`;
  return db.kind === 'embedded'
    ? `ok: The embedded database answers (PostgreSQL ${text}).`
    : `ok: The database answers (PostgreSQL ${text}).`;
}

async function clock({ db }: CommandContext): Promise<Finding> {
  const asked = Date.now();
  const { rows } = await db.query({ text: 'select clock_timestamp() as now' });
  const answered = Date.now();
  // The database's clock was read between these two times.
  const off = rows[0].now.getTime() - (asked + answered) / 2;
  const seconds = (Math.abs(off) / 1_000).toFixed(1);
  if (Math.abs(off) - (answered - asked) / 2 > LARGEST_DIFFERENCE_MS)
    return `wrong: The clock of the database is ${seconds} s ${off > 0 ? 'ahead of' : 'behind'} this machine's. Leases use the clock of the database; synchronise both clocks with NTP.`;
  return `ok: The clocks of the database and of this machine agree within ${seconds} s.`;
}

async function durability({ db }: CommandContext): Promise<Finding> {
  if (db.kind === 'embedded')
    return 'note: The embedded database survives a killed process, but not a power cut. For that, use a PostgreSQL server.';
  const { rows } = await db.query({
    text: `select current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync,
      current_setting('synchronous_standby_names') <> '' as has_standby`,
  });
  if (rows[0].has_standby && rows[0].commit === 'local')
    return 'wrong: synchronous_commit is local, so commits do not wait for the standby: a failover can lose acknowledged actions.';
  return rows[0].commit === 'off' || rows[0].fsync === 'off'
    ? 'wrong: synchronous_commit or fsync is off in the database: acknowledged actions can be lost.'
    : 'ok: The database writes durably.';
}

async function standby({ db }: CommandContext): Promise<Finding[]> {
  const sentence = db.kind === 'postgres' ? await missingStandby(db) : null;
  return sentence === null ? [] : [`wrong: ${sentence}`];
}

async function schema(context: CommandContext): Promise<Finding[]> {
  const migrate = migrations(context.db, context.config.MUSTER_SCHEMA);
  try {
    await migrate.checkFits();
  } catch (error) {
    return [`wrong: ${(error as Error).message}`];
  }
  const missing = await migrate.missing();
  if (missing.length > 0)
    return [
      context.config.MUSTER_AUTO_MIGRATE === 'yes'
        ? `note: ${missing.length} migrations are not applied yet; the next start applies them.`
        : `wrong: ${missing.length} migrations are not applied. Run "muster migrate up".`,
    ];
  const differences = await schemaDifferences(context);
  return differences.length === 0
    ? ['ok: The schema is as expected.']
    : [
        `wrong: The schema differs from the expected one in ${differences.length} lines; "muster migrate validate" shows them.`,
      ];
}
