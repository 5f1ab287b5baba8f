import { runningOf } from './claim-slots.ts';

/** Pieces of the claims that name one runner (`$2` tenant, `$3` runner) and what they want (`$6`), exact by its version. */
export const freeSlots = (s: string) => `f as materialized (
    select r.tenant_id, r.runner_id, r.ver as runner_ver, coalesce(r.slots - ${runningOf(s, 'r')}, cardinality($6::bigint[])) as free
    from ${s}.runners r where r.tenant_id = $2::int and r.runner_id = $3::bigint
  )`;

/** Only if nobody else has raised it since the slots were counted, and only if there is something to claim in `h`. */
export const raiseRunner = (s: string) => `ru as (
    update ${s}.runners r set ver = r.ver + 1 from f
    where r.tenant_id = f.tenant_id and r.runner_id = f.runner_id and r.ver = f.runner_ver and exists (select 1 from h)
    returning r.runner_id
  )`;
