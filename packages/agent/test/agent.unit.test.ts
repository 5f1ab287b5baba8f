import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Backoff } from '../src/backoff.ts';
import { type Agent, type AgentAction, createAgent } from '../src/index.ts';
import { json, type Play, playedServer } from '../testing/played-server.ts';

/** The agent against a server that the test plays itself. */
async function scene(play: Play, waitSeconds = 25) {
  const executed: string[] = [];
  const server = await playedServer(play);
  const agent: Agent = createAgent({
    server: server.url,
    token: async () => 'a-token',
    folder: mkdtempSync(path.join(tmpdir(), 'muster-agent-')),
    execute: async ({ id, attempt }) => {
      executed.push(`${id}:${attempt}`);
      return { status: 'succeeded' };
    },
    waitSeconds,
    backoff: { firstMs: 1, mostMs: 4 },
  });
  const running = agent.run();
  return {
    requests: server.requests,
    executed,
    async close() {
      agent.stop();
      server.cut();
      await running;
      server.close();
    },
  };
}

const action = (id: string, attempt = 1): AgentAction => ({
  id,
  hostId: '1',
  serviceId: id,
  kind: 'start',
  attempt,
  startedAt: new Date().toISOString(),
  leaseUntil: new Date(Date.now() + 300_000).toISOString(),
  service: { id, unitName: 'x', displayName: 'x', description: '' },
});

it('asks what it holds at the start and after a broken request, and runs each attempt once', async () => {
  let polls = 0;
  let done: () => void = () => {};
  const over = new Promise<void>((resolve) => {
    done = resolve;
  });
  const played = await scene((request, response) => {
    if (request.url === '/api/control/running') json(response, { actions: polls === 0 ? [] : [action('7')] });
    else if (request.url === '/api/control/report') json(response, { accepted: true, status: 'succeeded' });
    else {
      polls += 1;
      if (polls <= 3)
        request.socket.destroy(); // the answer, with action 7 in it, is lost
      else done();
    }
  });
  await over;
  await played.close();
  expect(played.requests.filter((line) => !line.includes('report')).slice(0, 4)).toEqual([
    'GET /api/control/running',
    'GET /api/control/queue?max=10&wait=25',
    'GET /api/control/running',
    expect.stringMatching(/^GET \/api\/control\/queue/),
  ]);
  expect(played.executed).toEqual(['7:1']);
});

it('runs an attempt once however often it is listed, and another attempt of the same action too', async () => {
  let polls = 0;
  const reports: string[] = [];
  const played = await scene((request, response, body) => {
    if (request.url === '/api/control/running') json(response, { actions: [action('1'), action('1')] });
    else if (request.url === '/api/control/report') {
      const { actionId, attempt } = JSON.parse(body);
      reports.push(`${actionId}:${attempt}`);
      json(response, { accepted: true, status: 'succeeded' });
    } else {
      polls += 1;
      if (polls === 1) json(response, { actions: [action('1'), action('1', 2)] });
    }
  });
  while (reports.length < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  await played.close();
  expect(played.executed).toEqual(['1:1', '1:2']);
  expect(reports).toEqual(['1:1', '1:2']);
});

it('delivers a result again until the server has it, and drops one that it will never take', async () => {
  const answers = [500, 401, 503, 404, 200];
  const reports: string[] = [];
  const played = await scene((request, response, body) => {
    if (request.url === '/api/control/running') json(response, { actions: [action('1')] });
    else if (request.url === '/api/control/report') {
      reports.push(JSON.parse(body).actionId);
      const status = answers.shift() ?? 200;
      json(
        response,
        status === 200 ? { accepted: true, status: 'succeeded' } : { error: 'no', code: 'X' },
        status,
      );
    } else if (answers.length === 1) json(response, { actions: [action('2')] });
    else if (answers.length > 1) response.writeHead(204).end();
  });
  while (reports.length < 5) await new Promise((resolve) => setTimeout(resolve, 2));
  await played.close();
  expect(reports).toEqual(['1', '1', '1', '1', '2']);
});

it('waits longer and longer after failures, spread, up to a limit', () => {
  const backoff = new Backoff(1_000, 60_000, () => 1);
  expect(Array.from({ length: 8 }, () => backoff.next())).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
  ]);
  backoff.reset();
  expect(backoff.next()).toBe(1_000);
  expect(new Backoff(1_000, 60_000, () => 0).next()).toBe(500);
});
