import { type Engine, eventName, type Transition } from '../src/index.ts';

/** An effect that records what it receives, in a table of its own, and fails for given actions and lanes. */
export interface TellingEffect {
  /** Everything that is committed, in order. */
  told(): Promise<Transition[]>;
  forget(): Promise<void>;
  refuse(what: 'action' | 'lane', ...ids: string[]): Promise<void>;
  accept(...ids: string[]): Promise<void>;
}

export async function tellingEffect(engine: Engine, name: string, channel: string): Promise<TellingEffect> {
  const { db } = engine;
  const [told, refused] = [`told_${name}`, `refused_${name}`];
  await db.query({
    text: `create table ${told} (place bigint generated always as identity, tenant_id int, lane_id bigint, action_id bigint, channel text,
      events int[], before text, state text, attempt int, reason text, at timestamptz, one int)`,
  });
  await db.query({ text: `create table ${refused} (what text not null, id bigint not null)` });
  const columns = 'tenant_id, lane_id, action_id, channel, events, before, state, attempt, reason, at';
  engine.addEffect({
    name,
    channels: [channel],
    sql: (own) => ({
      steps: `${own('w')} as (
        insert into ${told} (${columns}, one)
          select ${columns}, 1 / case when exists (select 1 from ${refused} r where r.id = case r.what when 'lane' then t.lane_id else t.action_id end) then 0 else 1 end
          from ${own('tr')} t order by t.n
      )`,
    }),
  });
  return {
    async told() {
      const { rows } = await db.query({ text: `select * from ${told} order by place` });
      return rows.map((row) => ({
        tenantId: row.tenant_id,
        laneId: row.lane_id,
        actionId: row.action_id,
        channel: row.channel,
        events: row.events.map(eventName),
        before: row.before,
        state: row.state,
        attempt: row.attempt,
        reason: row.reason,
        at: row.at,
      }));
    },
    async forget() {
      await db.query({ text: `delete from ${told}` });
    },
    async refuse(what, ...ids) {
      await db.query({
        text: `insert into ${refused} select $1, * from unnest($2::bigint[])`,
        values: [what, ids],
      });
    },
    async accept(...ids) {
      const text = `delete from ${refused} where id = any ($1::bigint[]) or cardinality($1::bigint[]) = 0`;
      await db.query({ text, values: [ids] });
    },
  };
}
