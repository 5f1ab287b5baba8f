// Thousands of hosts in a few statements; each with one service, and a token that follows from its number.

/** @param {number} n */
export const tokenOf = (n) => `mst_agent_1_${String(n).padStart(43, 'A')}`;

/**
 * @param {import('@muster/engine').Queryable} client
 * @param {number} count
 * @returns {Promise<{ hostId: string, serviceId: string, token: string }[]>}
 */
export async function manyHosts(client, count) {
  const { rows: hosts } = await client.query({
    text: `with n as (select n, nextval('muster.runner_seq') as runner_id from generate_series(1, $1::int) n),
      r as (insert into muster.runners (tenant_id, runner_id) select 1, runner_id from n)
      insert into muster.hosts (tenant_id, name, runner_id) select 1, 'many ' || n, runner_id from n order by n
      returning host_id, runner_id, name`,
    values: [count],
  });
  await client.query({
    text: `insert into muster.tokens (tenant_id, kind, name, sha256, restriction, first_used_at)
      select 1, 'agent', h.name, sha256(convert_to('mst_agent_1_' || lpad(split_part(h.name, ' ', 2), 43, 'A'), 'UTF8')),
        jsonb_build_object('hostId', h.host_id::text, 'runnerId', h.runner_id::text), now()
      from muster.hosts h where h.name like 'many %'`,
  });
  const { rows: services } = await client.query({
    text: `with s as materialized (
        select h.host_id, h.name, h.runner_id, nextval('muster.service_seq') as service_id from muster.hosts h where h.name like 'many %'
      ), l as materialized (select s.*, muster.make_lane(1, 'service', s.service_id::text) as lane_id from s)
      insert into muster.services (tenant_id, service_id, host_id, lane_id, unit_name, display_name, description)
        select 1, l.service_id, l.host_id, l.lane_id, 'web.service', 'web', '' from l returning service_id, host_id`,
  });
  // without statistics about the new rows, the planner would compare every lane with every host
  await client.query({ text: 'analyze muster.hosts, muster.services, muster.lanes' });
  await client.query({
    text: `update muster.lanes l set runner_id = h.runner_id from muster.services s
      join muster.hosts h on h.tenant_id = s.tenant_id and h.host_id = s.host_id
      where l.tenant_id = s.tenant_id and l.lane_id = s.lane_id`,
  });
  const serviceOf = new Map(services.map((row) => [row.host_id, row.service_id]));
  return hosts
    .map((row) => ({ n: Number(row.name.split(' ')[1]), hostId: row.host_id }))
    .sort((a, b) => a.n - b.n)
    .map(({ n, hostId }) => ({ hostId, serviceId: String(serviceOf.get(hostId)), token: tokenOf(n) }));
}
