// One and two server processes behind one port, as `muster serve` starts them (MUSTER_PROCESSES), each with the same load from
// outside; beside each figure, who used the cores meanwhile. Clients and PostgreSQL share them.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { hostsCrowd } from '../../apps/server/testing/hosts-crowd.mjs';
import { manyHosts } from '../../apps/server/testing/many-hosts.mjs';
import { cpuOfFamily, postmasterOf } from '../cpu.mjs';
import { underLoad } from '../load.mjs';
import { pause, quantiles } from '../measure.mjs';
import { LEASE_SECONDS, leases } from '../muster.mjs';

const token = 'bench-operator-token-of-32-characters-or-more';
const SAMPLES = 1_000;
/** Not counted: plans are made, and code is compiled, in each process. */
const WARM_UP = 1_000;

/** The command itself, with so many processes. @param {string} url @param {number} processes */
async function serve(url, processes) {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-'));
  const main = fileURLToPath(new URL('../../apps/server/bin/muster.js', import.meta.url));
  const child = spawn(process.execPath, ['--max-semi-space-size=64', main, 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      DATABASE_URL: url,
      MUSTER_DATA_DIR: folder,
      MUSTER_LOG_LEVEL: 'warn',
      MUSTER_METRICS_ALLOW: '127.0.0.1',
      MUSTER_OPERATOR_TOKEN: token,
      MUSTER_PROCESSES: String(processes),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const address = await new Promise((resolve, reject) => {
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
      const [, found] = /listens on (\S+)\n/.exec(out) ?? [];
      if (found) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`muster serve ended with exit code ${code}.`)));
  });
  const database = await withClient(url, postmasterOf);
  const cpu = () => ({
    server: cpuOfFamily(Number(child.pid)),
    database: cpuOfFamily(database),
    at: performance.now(),
  });
  return {
    port: Number(new URL(address).port),
    headers: { authorization: `Bearer ${token}` },
    /** The returned function tells how many cores the server's processes and PostgreSQL's have used since. */
    startUsage() {
      const before = cpu();
      return () => {
        const after = cpu();
        const ms = after.at - before.at;
        return {
          serverCores: (after.server - before.server) / ms,
          postgresCores: (after.database - before.database) / ms,
        };
      };
    },
    async parked() {
      const text = await (await fetch(`${address}/metrics`)).text();
      return Number(/^muster_parked_waiters(?:\{.*\})? (\d+)$/m.exec(text)?.[1] ?? 0);
    },
    async close() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { force: true, recursive: true });
    },
  };
}

/** @template T @param {string} url @param {(client: pg.Client) => Promise<T>} run */
async function withClient(url, run) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

/** @param {string} url @param {number} processes @param {import('../options.mjs').Sizes} sizes */
async function requests(url, processes, sizes) {
  const held = await withClient(url, (client) => leases({ db: /** @type {any} */ (client) }));
  const server = await serve(url, processes);
  let usage = server.startUsage();
  const result = await underLoad(
    {
      ...sizes,
      port: server.port,
      headers: server.headers,
      leaseSeconds: LEASE_SECONDS,
      leases: held.map(({ laneId, actionId, attempt }) => ({
        actionId,
        attempt,
        worker: `worker ${laneId}`,
      })),
    },
    () => {
      usage = server.startUsage();
    },
  );
  const cores = usage();
  await server.close();
  return { ...result, ...cores };
}

/** @param {string} url @param {number} processes @param {number} agents */
async function wakeUps(url, processes, agents) {
  const server = await serve(url, processes);
  const hosts = await withClient(url, async (client) => {
    const made = await manyHosts(client, agents);
    await client.query('analyze');
    return made;
  });
  const crowd = hostsCrowd({ port: server.port, operator: token, tokens: hosts.map((host) => host.token) });
  await crowd.connect();
  await crowd.park(25);
  while ((await server.parked()) < agents) await pause(100);
  const orders = hosts.map(({ hostId, serviceId }, agent) => ({
    agent,
    path: `/api/hosts/${hostId}/actions`,
    body: { serviceId, kind: 'restart' },
  }));
  const warmUp = Math.min(WARM_UP, Math.floor(agents / 5));
  await crowd.deliver(orders.slice(0, warmUp), 1);
  const usage = server.startUsage();
  const { sentMs, others } = await crowd.deliver(orders.slice(warmUp, warmUp + SAMPLES), 1);
  const cores = usage();
  if (others > warmUp) throw new Error(`${others} agents got an action that was not theirs.`);
  crowd.end();
  await server.close();
  return { ...quantiles(sentMs), ...cores, agents };
}

export default [1, 2].flatMap((processes) => {
  const many = processes === 1 ? 'one process' : `${processes} processes`;
  return [
    {
      name: `processes-${processes}-requests`,
      title: `\`muster serve\`, ${many}: report and claim over HTTP`,
      unit: 'requests/s',
      uses: /** @type {['postgres']} */ (['postgres']),
      template: 'leased',
      settings: `as report and claim over HTTP, by the command itself with MUSTER_PROCESSES=${processes}`,
      /** @param {import('../rows.mjs').Task} task */
      measure: ({ url, sizes }) => requests(url, processes, sizes),
    },
    {
      name: `processes-${processes}-wake-up`,
      title: `\`muster serve\`, ${many}: action to a waiting agent, p99`,
      unit: 'ms',
      lower: true,
      uses: /** @type {['postgres']} */ (['postgres']),
      settings: `as the action to a waiting agent, by the command itself with MUSTER_PROCESSES=${processes}, ${WARM_UP} before the first that counts; the agent may wait at another process than the one that takes the action`,
      /** @param {import('../rows.mjs').Task} task */
      measure: ({ url, sizes }) => wakeUps(url, processes, sizes.waiters),
    },
  ];
});
