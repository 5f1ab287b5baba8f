import { type Duty, dutyRun, type Engine } from '@muster/engine';

/**
 * Deletes bulk operations with their targets, as long after their end as the engine keeps actions, and never while one
 * of their actions is unfinished: a device may be away for longer than that.
 */
const MOST_OWNERS = 20;
const MOST_TARGETS = 5_000;
const EVERY_TEN_MINUTES = 600_000;

export interface SetOwner {
  readonly duty: string;
  readonly table: string;
  readonly id: string;
  /** The column with the time since which nothing is left to do. */
  readonly doneAt: string;
}

export function createPruneSets({ now, schema: s }: Engine, owner: SetOwner, days: number): Duty {
  const { id, doneAt } = owner;
  const table = `${s}.${owner.table}`;
  const old = `o.${doneAt} < $1::timestamptz - make_interval(days => ${days})
      and not exists (select 1 from ${s}.targets t
        join ${s}.unfinished_actions a on a.tenant_id = t.tenant_id and a.action_id = t.action_id
        where t.tenant_id = o.tenant_id and t.set_id = o.set_id)`;
  const text = `
    with k as materialized (
      select o.tenant_id, o.${id}, o.set_id from ${table} o where ${old} order by o.${doneAt} limit ${MOST_OWNERS} for update skip locked
    ), few as materialized (
      select t.tenant_id, t.set_id, t.n from k join ${s}.targets t on t.tenant_id = k.tenant_id and t.set_id = k.set_id limit ${MOST_TARGETS}
    ), x as (
      delete from ${s}.targets t using few where t.tenant_id = few.tenant_id and t.set_id = few.set_id and t.n = few.n
    ), z as (
      -- those with more targets are continued in the next run
      delete from ${table} o using k
      where o.tenant_id = k.tenant_id and o.${id} = k.${id} and (select count(*) from few) < ${MOST_TARGETS}
      returning o.tenant_id, o.set_id
    ), e as (
      delete from ${s}.target_sets t using z where t.tenant_id = z.tenant_id and t.set_id = z.set_id
    )
    select (select count(*) from few)::int as targets, (select count(*) from z)::int as owners`;
  return {
    name: owner.duty,
    everyMs: EVERY_TEN_MINUTES,
    async runOnce(client) {
      const { rows } = await client.query({ name: `muster_${owner.table}_prune`, text, values: [now()] });
      const { targets, owners } = rows[0] as { targets: number; owners: number };
      return dutyRun(targets === MOST_TARGETS ? MOST_OWNERS : owners, MOST_OWNERS);
    },
  };
}

/** A notice is of use only until the expiry it names. */
export function createPruneNotices({ now, schema: s }: Engine): Duty {
  const text = `
    with x as (
      delete from ${s}.expiry_notices where ctid = any(array(
        select ctid from ${s}.expiry_notices where expires_at < $1::timestamptz limit ${MOST_TARGETS})) returning 1
    ) select count(*)::int as notices from x`;
  return {
    name: 'prune-expiry-notices',
    everyMs: EVERY_TEN_MINUTES,
    async runOnce(client) {
      const { rows } = await client.query({ name: 'muster_prune_notices', text, values: [now()] });
      return dutyRun((rows[0] as { notices: number }).notices, MOST_TARGETS);
    },
  };
}
