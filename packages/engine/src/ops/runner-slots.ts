import { hasKeyOf, ofRunner, rows } from '../sql.ts';

/** For a runner without a limit, if the caller sets no maximum. */
export const UNLIMITED = 2_147_483_647;

/** How many slots are taken: leases in the runner's own lanes, and in those moved away while it held them. */
export const runningOf = (s: string, r: string) => `(
      (select count(*) from ${s}.lanes l where ${ofRunner(s, r)} and l.lease_runner = ${r}.runner_id)
      + (select count(*) from ${s}.lanes l where ${ofRunner(s, r, 'moved_from')}
          and l.lease_runner = ${r}.runner_id and l.runner_id is distinct from ${r}.runner_id))`;

/**
 * `f`: the claiming runners (tenants in `$2`, runners in `$3`, then the other input columns), how many slots are taken and
 * how many are free; one without a limit has `most`. `runner_ver` is null for an unknown runner.
 */
export const freeSlots = (s: string, columns: Record<string, string>, most: string) => `f as materialized (
    select i.*, r.ver as runner_ver, r.running, case when r.ver is not null then least(${most}, coalesce(r.slots - r.running, ${most})) else 0 end as free
    from ${rows(2, { tenant_id: 'int', runner_id: 'bigint', ...columns })}
    left join lateral (
      select r.ver, r.slots, ${runningOf(s, 'r')} as running from ${s}.runners r where r.tenant_id = i.tenant_id and r.runner_id = i.runner_id limit 1
    ) r on true
  )`;

/**
 * `rk`: the runners of `h` whose version is unchanged since their slots were counted, raised and locked in one order.
 * Two claims that counted the same leases cannot both do that (without it, 40 leases were seen on 20 slots).
 */
export const raiseRunners = (s: string, ifLocked: 'skip locked' | '') => `rk as materialized (
    select x.tenant_id, x.runner_id
    from (select distinct h.tenant_id, h.runner_id, h.runner_ver from h order by 1, 2) x
    cross join lateral (
      select 1 from ${s}.runners r where r.tenant_id = x.tenant_id and r.runner_id = x.runner_id and r.ver = x.runner_ver limit 1
      for update ${ifLocked}
    ) r
  ), ru as (
    update ${s}.runners r set ver = r.ver + 1 from rk
    where ${hasKeyOf('r', 'rk', 'runner_id')}
  )`;

/** Whether the runner of row `x` is one of them. */
export const IS_RAISED = '(x.tenant_id, x.runner_id) in (select rk.tenant_id, rk.runner_id from rk)';
