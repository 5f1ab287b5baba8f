import type { Database, Queryable, Transaction } from './db.ts';

/**
 * Detects that the database was restored, and repairs what a restore breaks: transaction numbers. A dump read into
 * another server keeps the old server's numbers, which are ahead of the new server's or mix with them; a
 * point-in-time recovery issues the same numbers twice. In both cases a new life begins, and cursors of the old one
 * are refused. A standby that takes over keeps both the numbers and the identity, so no new life begins.
 *
 * A restore that leaves server and numbers looking the same (a point in time, a file backup) cannot be detected; the
 * operator must run `muster restored`.
 */
export interface Restored {
  /** Numbers were ahead of the server's and were corrected. */
  readonly renumbered: boolean;
}

/** Called at each start: null if there is nothing to notice. Safe on many nodes at once: the first one does it. */
export async function noticeRestore(db: Database, schema: string): Promise<Restored | null> {
  const found = await look(db, schema);
  if (!found.isNew && !found.isRestored) return null;
  return alone(db, schema, async (tx) => {
    const { isNew, isRestored, server } = await look(tx, schema);
    if (isRestored) return begin(tx, schema);
    if (isNew) await tx.query({ text: `update ${schema}.incarnations set server = $1`, values: [server] });
    return null;
  });
}

/** Begins a new life because an operator asked for it; `note` records it in the same transaction. */
export async function raiseIncarnation(
  db: Database,
  schema: string,
  note: (tx: Transaction, restored: Restored) => Promise<unknown> = async () => {},
): Promise<Restored> {
  return alone(db, schema, async (tx) => {
    const restored = await begin(tx, schema);
    await note(tx, restored);
    return restored;
  });
}

/** One at a time, and without time limits: a long history takes as long as its restore did. */
function alone<T>(db: Database, schema: string, run: (tx: Transaction) => Promise<T>): Promise<T> {
  return db.transaction(
    async (tx) => {
      await tx.query({ text: `select pg_advisory_xact_lock(hashtext('${schema}.incarnations'))` });
      return run(tx);
    },
    { lockMs: 0, statementMs: 0 },
  );
}

/** The identity of the database, until it is restored. */
export async function incarnationOf(client: Queryable, schema: string): Promise<string> {
  const { rows } = await client.query({ text: `select incarnation from ${schema}.incarnations` });
  return rows[0].incarnation;
}

/** More than anyone queues between a backup and its restore. */
const MOST_LOST_ACTIONS = 1_000_000_000;

interface Look {
  /** The server's own identifier, or null where it is not available. */
  readonly server: string | null;
  /** No node has started on this database yet. */
  readonly isNew: boolean;
  readonly isAhead: boolean;
  readonly isRestored: boolean;
}

async function look(client: Queryable, s: string): Promise<Look> {
  const server = await identity(client);
  // One look at an index each, in statements of their own: each server of a distributed database has some of the rows.
  const largest = [
    `select e.xid from ${s}.events e where e.xid is not null order by e.xid desc limit 1`,
    `select a.xid from ${s}.actions a where a.xid is not null order by a.xid desc limit 1`,
    `select z.xid from ${s}.endings z where z.xid is not null order by z.xid desc limit 1`,
    `select greatest(l.raised_in, l.safe_from) as xid from ${s}.stale_lanes l order by 1 desc limit 1`,
  ];
  const found: bigint[] = [];
  for (const text of largest)
    for (const { xid } of (await client.query({ text })).rows) found.push(BigInt(xid));
  // asked after them: every row seen was written by a transaction with a smaller number than the next one now
  const { rows } = await client.query({
    text: `select i.server, pg_snapshot_xmax(pg_current_snapshot())::text as next from ${s}.incarnations i`,
  });
  const isAhead = found.some((xid) => xid >= BigInt(rows[0].next));
  const { server: known } = rows[0] as { server: string | null };
  const isMoved = known !== null && server !== null && known !== server;
  return { server, isNew: known === null && server !== null, isAhead, isRestored: isAhead || isMoved };
}

/** Made by initdb and copied with the files, so a standby has it too. Some providers do not expose it. */
async function identity(client: Queryable): Promise<string | null> {
  const { rows } = await client.query({
    text: `select has_function_privilege('pg_control_system()', 'execute') as allowed`,
  });
  if (!rows[0].allowed) return null;
  const { rows: found } = await client.query({
    text: 'select system_identifier::text as server from pg_control_system()',
  });
  return found[0].server;
}

/**
 * The new life. If numbers are ahead, all events get the number 0: they are settled, older than anything to come, and
 * ordered by their event numbers, an order in which each still follows what it could see. Keeping some would not
 * work: numbers below the server's may be of the old life or of the new one. Transactions that saw an old generation,
 * or a closed lane still open, ended with the old life or run now, so lanes on those lists are seen anew.
 *
 * Numbers of actions of the lost time are not issued again: a worker that still has such an action would report the
 * first attempt of another one.
 */
async function begin(tx: Queryable, s: string): Promise<Restored> {
  const { isAhead, server } = await look(tx, s);
  if (isAhead)
    for (const table of ['events', 'actions', 'endings'])
      await tx.query({ text: `update ${s}.${table} set xid = '0' where xid <> '0'` });
  await tx.query({
    text: `with d as (delete from ${s}.stale_lanes returning tenant_id, lane_id)
      insert into ${s}.stale_lanes (tenant_id, lane_id) select distinct d.tenant_id, d.lane_id from d`,
  });
  await tx.query({ text: `update ${s}.lanes_to_forget set safe_from = null where safe_from is not null` });
  await tx.query({
    text: `select setval('${s}.action_seq', nextval('${s}.action_seq') + ${MOST_LOST_ACTIONS})`,
  });
  await tx.query({
    text: `update ${s}.incarnations set incarnation = gen_random_uuid(), server = $1, raised_at = now()`,
    values: [server],
  });
  return { renumbered: isAhead };
}

/**
 * Rows from another database brought no transaction numbers. Everything the feed shows gets the number 0, as in
 * `begin`: one number for all of it, or rows of different statements would be shown one after the other. A SENT that
 * an ending carries has an even number of its own: as a row it is for the history alone.
 */
export async function numberImported(tx: Queryable, schema: string): Promise<void> {
  for (const table of ['actions', 'endings'])
    await tx.query({ text: `update ${schema}.${table} set xid = '0' where event_id is not null` });
  await tx.query({
    text: `update ${schema}.events set xid = case when event_id % 2 = 0 and action_id > 0 then null else '0'::xid8 end`,
  });
}
