import type { ClaimedAction, Engine, Queryable } from '../src/index.ts';

/** One runner's share of what the engine does for several at once. */
type ToClaim = Parameters<Engine['claimNamedMany']>[1][number];
export async function claimNamed(engine: Engine, client: Queryable, by: ToClaim): Promise<ClaimedAction[]> {
  return (await engine.claimNamedMany(client, [by]))[0] as ClaimedAction[];
}

type ToMake = Parameters<Engine['enqueueAndClaimMany']>[1][number];
export async function enqueueAndClaim(
  engine: Engine,
  client: Queryable,
  by: ToMake,
): Promise<(ClaimedAction | null)[]> {
  return (await engine.enqueueAndClaimMany(client, [by]))[0] as (ClaimedAction | null)[];
}

/** What every user of the database can read. */
export async function runnerLoad(
  engine: Engine,
  tenantId: number,
  runnerId: string,
): Promise<{ slots: number | null; running: number } | null> {
  const { rows } = await engine.db.query({
    text: `select slots, running from ${engine.schema}.runner_loads where tenant_id = $1 and runner_id = $2`,
    values: [tenantId, runnerId],
  });
  return rows[0] ?? null;
}
