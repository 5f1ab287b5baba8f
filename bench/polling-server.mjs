// The other way to let agents wait, for comparison: for each waiting request, this server looks into its table every 500 ms, in a
// transaction that finds the queued actions of the host and marks them as running. Plain pg and node:http, cached tokens,
// no history: less work per look than an ORM would do.

import { createServer } from 'node:http';
import pg from 'pg';

const EVERY_MS = 500;
const CONNECTIONS = 14;

/** @param {string} url @param {number} hosts */
export async function openPollingServer(url, hosts) {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  await pool.query(`
    create table hosts (id bigint primary key, token text not null unique);
    create table actions (id bigserial primary key, host_id bigint not null, kind text not null, status text not null,
      requested_at timestamptz not null default now(), started_at timestamptz);
    create index actions_queued on actions (host_id, requested_at) where status = 'queued'`);
  await pool.query({
    text: `insert into hosts select n, 'agent-' || n from generate_series(1, $1::int) n`,
    values: [hosts],
  });
  const hostOf = new Map(
    (await pool.query('select id, token from hosts')).rows.map((row) => [row.token, row.id]),
  );

  /** @param {string} hostId @param {number} max */
  async function findAndLock(hostId, max) {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const { rows } = await client.query({
        name: 'find',
        text: `select * from actions where host_id = $1 and status = 'queued' order by requested_at limit $2`,
        values: [hostId, max],
      });
      if (rows.length > 0)
        await client.query({
          name: 'lock',
          text: `update actions set status = 'running', started_at = now() where id = any($1)`,
          values: [rows.map((row) => row.id)],
        });
      await client.query('commit');
      return rows.map((row) => ({ ...row, status: 'running' }));
    } finally {
      client.release();
    }
  }

  /** @param {URL} address @param {string} hostId */
  async function poll(address, hostId) {
    const wait = Number(address.searchParams.get('wait') ?? 0) * 1_000;
    const began = performance.now();
    let actions = await findAndLock(hostId, 1);
    while (actions.length === 0 && performance.now() - began < wait) {
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      if (closed) break;
      actions = await findAndLock(hostId, 1);
    }
    return actions;
  }

  let closed = false;
  const server = createServer(async (request, response) => {
    const address = new URL(request.url ?? '/', 'http://localhost');
    const token = request.headers.authorization?.slice(7) ?? '';
    /** @param {number} status @param {object} [body] */
    const answer = (status, body) => {
      const text = body ? JSON.stringify(body) : '';
      response.writeHead(status, body ? { 'content-length': text.length } : {}).end(text);
    };
    if (request.method === 'POST') {
      const [, , , hostId] = address.pathname.split('/');
      request.resume();
      await pool.query({
        name: 'queue',
        text: `insert into actions (host_id, kind, status) values ($1, 'restart', 'queued')`,
        values: [hostId],
      });
      return answer(201, {});
    }
    const hostId = hostOf.get(token);
    if (hostId === undefined) return answer(401, { error: 'unknown' });
    // errors after the end do not matter
    const actions = await poll(address, hostId).catch((error) => {
      if (closed) return [];
      throw error;
    });
    return actions.length > 0 ? answer(200, { actions }) : answer(204);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    tokens: Array.from({ length: hosts }, (_, n) => `agent-${n + 1}`),
    hostIds: Array.from({ length: hosts }, (_, n) => String(n + 1)),
    async close() {
      closed = true;
      server.closeAllConnections();
      server.close();
      await pool.end().catch(() => {});
    },
  };
}
