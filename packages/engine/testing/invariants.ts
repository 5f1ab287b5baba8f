import { ofTenant } from '../src/by-tenant.ts';
import { type Database, type EventType, eventName, type Queryable, replay } from '../src/index.ts';

/**
 * What always holds: each action is in one place, its history leads to its state, no attempt number is handed out
 * twice, a lease belongs to an unfinished action, and the counts equal a recount. Returns what is wrong, as sentences.
 */
export async function brokenInvariants(db: Database, schema = 'muster'): Promise<string[]> {
  if (!db.isDistributed) return brokenIn(db, schema);
  const { rows } = await db.query({ text: `select tenant_id from ${schema}.lanes group by tenant_id` });
  const wrong: string[] = [];
  for (const { tenant_id: tenantId } of rows) wrong.push(...(await brokenIn(ofTenant(db, tenantId), schema)));
  return wrong;
}

async function brokenIn(client: Queryable, schema: string): Promise<string[]> {
  const wrong: string[] = [];
  const { rows: actions } = await client.query({
    text: `select a.tenant_id, a.action_id, a.channel, p.action_id is not null as pending, z.state as ended, z.attempt as ended_attempt,
        l.action_id is not null as leased, p.attempt, l.attempt as leased_attempt,
        array(select e.type from ${schema}.history e where e.tenant_id = a.tenant_id and e.action_id = a.action_id order by e.event_id)::int[] as types,
        array(select e.attempt from ${schema}.history e where e.tenant_id = a.tenant_id and e.action_id = a.action_id and e.type = 2
          order by e.event_id)::int[] as sent
      from ${schema}.actions a
      left join ${schema}.pending p on p.tenant_id = a.tenant_id and p.action_id = a.action_id
      left join ${schema}.endings z on z.tenant_id = a.tenant_id and z.action_id = a.action_id
      left join lateral (select * from ${schema}.lanes l where l.tenant_id = a.tenant_id and l.action_id = a.action_id limit 1) l on true`,
  });
  const counted = new Map<string, number>();
  for (const action of actions) {
    const name = `Action ${action.action_id}`;
    if (action.pending === (action.ended !== null)) {
      wrong.push(`${name} is ${action.pending ? 'both pending and ended' : 'neither pending nor ended'}.`);
      continue;
    }
    if (action.leased && !action.pending) wrong.push(`${name} is leased although it has ended.`);
    const state = action.ended ?? (action.leased ? 'claimed' : 'pending');
    counted.set(
      `${action.tenant_id} ${action.channel} ${state}`,
      (counted.get(`${action.tenant_id} ${action.channel} ${state}`) ?? 0) + 1,
    );
    const events = (action.types as number[]).map((type): { type: EventType } => ({ type: eventName(type) }));
    try {
      const replayed = replay(events);
      if (replayed !== state) wrong.push(`${name} is ${state}, but its events say ${replayed}.`);
    } catch (error) {
      wrong.push(`${name}: ${String(error)} (${events.map((event) => event.type).join(', ')})`);
    }
    const sent = action.sent as number[];
    if (sent.some((attempt, n) => attempt !== n + 1))
      wrong.push(`${name} was handed out with the attempts ${sent.join(', ')}.`);
    const last = action.ended_attempt ?? (action.leased ? action.leased_attempt : action.attempt);
    if (last !== sent.length) wrong.push(`${name} is at attempt ${last} after ${sent.length} hand-outs.`);
  }
  wrong.push(...(await strayRows(client, schema)), ...(await wrongCounts(client, schema, counted)));
  return wrong;
}

async function strayRows(client: Queryable, s: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const table of ['pending', 'endings', 'idempotency_keys']) {
    const { rows } = await client.query({
      text: `select count(*)::int as n from ${s}.${table} x
        where not exists (select 1 from ${s}.actions a where a.tenant_id = x.tenant_id and a.action_id = x.action_id)`,
    });
    if (rows[0].n > 0) wrong.push(`${rows[0].n} rows in ${table} have no action.`);
  }
  const tags = await client.query({
    text: `select count(*)::int as n from (
        select a.tenant_id, a.action_id, x.tag from ${s}.actions a cross join lateral unnest(a.tags) x(tag) group by 1, 2, 3
      ) a full join ${s}.action_tags t using (tenant_id, action_id, tag) where a.tag is null or t.tag is null`,
  });
  if (tags.rows[0].n > 0) wrong.push(`${tags.rows[0].n} tags are not in both places.`);
  const homeless = await client.query({
    text: `select count(*)::int as n from ${s}.actions a
      where not exists (select 1 from ${s}.lanes l where l.tenant_id = a.tenant_id and l.lane_id = a.lane_id)`,
  });
  if (homeless.rows[0].n > 0) wrong.push(`${homeless.rows[0].n} actions are in no lane.`);
  const { rows } = await client.query({
    text: `select count(*)::int as n from ${s}.lanes l where (l.action_id is null) <> (l.attempt is null)
      or (l.action_id is null) <> (l.lease_until is null) or (l.action_id is null) <> (l.channel is null)
      or (l.action_id is null and l.sent_id is not null) or (l.action_id is null and (l.worker is not null or l.lease_runner is not null))`,
  });
  if (rows[0].n > 0) wrong.push(`${rows[0].n} lanes have half a lease.`);
  const unseen = await client.query({
    text: `select count(*)::int as n from ${s}.lanes l where l.lease_until is not null and (l.check_at <= l.lease_until) is not true`,
  });
  if (unseen.rows[0].n > 0) wrong.push(`${unseen.rows[0].n} leases end before housekeeping looks at them.`);
  return wrong;
}

async function wrongCounts(client: Queryable, s: string, counted: Map<string, number>): Promise<string[]> {
  const { rows } = await client.query({
    text: `select tenant_id, channel, state, sum(change)::int as n from ${s}.count_changes group by 1, 2, 3 having sum(change) <> 0`,
  });
  const kept = new Map(rows.map((row) => [`${row.tenant_id} ${row.channel} ${row.state}`, row.n as number]));
  return [...new Set([...kept.keys(), ...counted.keys()])]
    .filter((key) => kept.get(key) !== counted.get(key))
    .map(
      (key) => `The count of "${key}" is ${kept.get(key) ?? 0}; a recount gives ${counted.get(key) ?? 0}.`,
    );
}
