import { createMigrate, type Database, ENGINE_LINE } from '../src/index.ts';

/** Keeps contacts as doors do: in a table of its own, with its function in the place of the engine's. */
export interface Contacts {
  /** The lane's worker counts as recently seen on the channel until then; null: it was never seen. */
  heard(lane: { tenantId: number; laneId: string }, channel: string, until: Date | null): Promise<void>;
}

export async function keepContacts(db: Database): Promise<Contacts> {
  await db.query({
    text: `create table muster.test_contacts (tenant_id int, lane_id bigint, channel text, until timestamptz, primary key (tenant_id, lane_id, channel))`,
  });
  await db.query({
    text: `create or replace function muster.heard_on(p_tenant int, p_lane bigint) returns table (channel text, until timestamptz) language sql stable as $$
      select k.channel, k.until from muster.test_contacts k where k.tenant_id = p_tenant and k.lane_id = p_lane
    $$`,
  });
  // a distributed database distributes the table, and writes the function into those that call it
  if (db.isDistributed) await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
  return {
    async heard({ tenantId, laneId }, channel, until) {
      await db.query({
        text: `insert into muster.test_contacts values ($1, $2, $3, $4)
          on conflict (tenant_id, lane_id, channel) do update set until = excluded.until`,
        values: [tenantId, laneId, channel, until],
      });
    },
  };
}
