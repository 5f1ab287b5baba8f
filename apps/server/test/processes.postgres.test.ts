import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { muster, serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';

/** The real command with several processes. Needs the build, which `npm test` makes first. */
const folder = temporaryFolder();
afterAll(() => folder.remove());

const token = 'a-token-of-more-than-32-characters';

/** On a separate connection, so that any of the processes may get it. */
function ask(url: string, method = 'GET', body?: object): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      ...{ agent: false, method },
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    });
    sent.on('error', reject).on('response', (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.end(body ? JSON.stringify(body) : undefined);
  });
}

const sumOf = (metrics: string, name: string) =>
  metrics
    .split('\n')
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

test('several processes share the port, wake each other up and are replaced', {
  timeout: 300_000,
}, async () => {
  const database = await processDatabase(`${folder.path}/data`);
  const server = await serve({
    ...database.environment,
    MUSTER_OPERATOR_TOKEN: token,
    MUSTER_PROCESSES: '3',
    MUSTER_METRICS_ALLOW: '127.0.0.1',
  });
  const children = () =>
    readFileSync(`/proc/${server.process.pid}/task/${server.process.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
  const metrics = async () => (await ask(`${server.url}/metrics`)).text;
  try {
    await expect.poll(() => server.out()).toContain('3 processes share the port.');
    const first = children();
    expect(first.length).toBe(3);

    // they wait at any of the processes, and the work comes in at another one
    const lanes = ['a', 'b', 'c'];
    const claim = async (lane: string): Promise<string> => {
      const { text } = await ask(`${server.url}/api/lanes/${lane}/claim`, 'POST', { wait: 25, worker: lane });
      const [action] = JSON.parse(text).actions;
      return action?.kind ?? claim(lane);
    };
    const claims = lanes.map(claim);
    await expect.poll(async () => sumOf(await metrics(), 'muster_parked_waiters')).toBe(3);
    for (const lane of lanes) {
      const { status } = await ask(`${server.url}/api/lanes/${lane}/actions`, 'POST', {
        kind: `for ${lane}`,
      });
      expect(status).toBe(201);
    }
    expect(await Promise.all(claims)).toEqual(['for a', 'for b', 'for c']);
    const sums = async () => {
      const text = await metrics();
      return ['muster_depth', 'muster_database_up', 'muster_leading'].map((name) => sumOf(text, name));
    };
    await expect.poll(sums).toEqual([3, 1, 1]);

    const answered = async () => sumOf(await metrics(), 'muster_http_request_seconds_count');
    await expect.poll(answered).toBeGreaterThan(6);
    const before = await answered();
    process.kill(first[1] as number, 'SIGKILL');
    await expect.poll(() => server.log()).toContain('A server process has ended and will be replaced.');
    // its counts are kept: Prometheus takes a falling counter for a restart
    expect(await answered()).toBeGreaterThanOrEqual(before);
    await expect.poll(() => children().filter((pid) => !first.includes(pid)).length).toBe(1);
    for (let n = 0; n < 6; n += 1) expect((await ask(`${server.url}/healthz`)).status).toBe(200);
  } finally {
    expect(await server.stop()).toBe(0);
    await database.drop();
  }
});

test('the embedded database allows only one process', async () => {
  const { code, notes } = await muster(['serve'], {
    ...{ MUSTER_DATA_DIR: `${folder.path}/none`, MUSTER_PROCESSES: '2', PORT: '0' },
  });
  expect(code).toBe(1);
  expect(notes).toContain('MUSTER_PROCESSES must be 1 or auto with the embedded database');
});
