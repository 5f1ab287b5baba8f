// The way most queues of this kind begin: each check-in selects the oldest action, deletes it and sends it. No lease, no
// fence, no result, no history; an action that is lost after the delete is lost.

import fastify from 'fastify';
import pg from 'pg';
import { payload } from './measure.mjs';

const POOL = 20;

/** @param {string} url @param {import('./options.mjs').Sizes} sizes */
export async function openSeedServer(url, sizes) {
  const pool = new pg.Pool({ connectionString: url, max: POOL });
  await pool.query(`create table t_queue_action (id bigint generated always as identity primary key, tenant_id int not null,
    action_id int not null, device_id bigint not null, assigned_by text, assigned_at timestamptz not null default clock_timestamp(),
    action_trigger_payload jsonb not null)`);
  await pool.query('create index on t_queue_action (device_id, assigned_at)');
  await pool.query({
    text: `insert into t_queue_action (tenant_id, action_id, device_id, action_trigger_payload)
      select 1, 1, d, $3::jsonb from generate_series(1, $2::int) n, generate_series(1, $1::int) d`,
    values: [sizes.lanes, sizes.perLane, JSON.stringify(payload)],
  });
  await pool.query('vacuum analyze t_queue_action');
  await pool.query('checkpoint');

  const server = fastify();
  server.post('/api/checkin', async (request) => {
    // the token names its device, without a look-up
    const device = Number(request.headers.authorization?.replace(/^Bearer mst_device_1_A*/, ''));
    const { rows } = await pool.query({
      name: 'first',
      text: 'select * from t_queue_action where device_id = $1 order by assigned_at asc limit 1',
      values: [device],
    });
    const [first] = rows;
    if (!first) return { action: null };
    await pool.query({
      name: 'pop',
      text: 'delete from t_queue_action where id = $1 and device_id = $2',
      values: [first.id, device],
    });
    return { action: { id: first.id, kind: first.action_id, payload: first.action_trigger_payload } };
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    async close() {
      await server.close();
      await pool.end();
    },
  };
}
