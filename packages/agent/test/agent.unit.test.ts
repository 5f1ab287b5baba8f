import { mkdtempSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { CANCELLED } from '../src/attempts.ts';
import { Backoff } from '../src/backoff.ts';
import { type Agent, type AgentAction, type AgentOptions, createAgent } from '../src/index.ts';
import { json, type Play, playedServer } from '../testing/played-server.ts';

/** The agent against a server that the test plays itself. */
async function scene(play: Play, more: Partial<AgentOptions> = {}) {
  const executed: string[] = [];
  const said: string[] = [];
  const say = (sentence: string) => void said.push(sentence);
  const server = await playedServer(play);
  const agent: Agent = createAgent({
    server: server.url,
    token: async () => 'a-token',
    folder: mkdtempSync(path.join(tmpdir(), 'muster-agent-')),
    execute: async ({ id, attempt }) => {
      executed.push(`${id}:${attempt}`);
      return { status: 'succeeded' };
    },
    backoff: { firstMs: 1, mostMs: 4 },
    log: { info: say, warn: say },
    ...more,
  });
  const running = agent.run();
  return {
    requests: server.requests,
    executed,
    said,
    running,
    async close() {
      agent.stop();
      server.cut();
      await running.catch(() => {});
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

it('asks what it holds at the start and after a failed request, and runs each attempt once', async () => {
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

it('delivers a result again until the server has it, and drops one that is refused for good', async () => {
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

it('issue 11: one answer wakes the loops that wait after an outage, and each line of it is true', async () => {
  const beats: number[] = [];
  const polls: ServerResponse[] = [];
  const ends = new Map<string, () => void>();
  const down = new Set(['queue', 'heartbeat']);
  const failed = new Set<string>();
  const reports: string[] = [];
  const played = await scene(
    (request, response, body) => {
      const [, what = ''] = /control\/(\w+)/.exec(request.url ?? '') ?? [];
      if (down.has(what)) {
        failed.add(what);
        request.socket.destroy();
      } else if (what === 'running') json(response, { actions: [action('1'), action('2'), action('3')] });
      else if (what === 'heartbeat') beats.push(JSON.parse(body).wait);
      else if (what === 'queue') polls.push(response);
      else {
        reports.push(JSON.parse(body).actionId);
        json(response, { accepted: true, status: 'succeeded' });
      }
    },
    {
      // by themselves none of them would come back during the test
      backoff: { firstMs: 3_600_000, mostMs: 3_600_000, leastMs: 1 },
      execute: ({ id }) =>
        new Promise((resolve) => ends.set(id, () => resolve({ status: 'failed', message: CANCELLED }))),
    },
  );
  const until = (look: () => boolean) => expect.poll(look, { timeout: 60_000, interval: 2 }).toBe(true);
  const ofActions = () => played.said.filter((line) => line.startsWith('Action'));
  await until(() => failed.size === 2 && played.said.length > 0 && ends.size === 3);
  down.clear();
  ends.get('1')?.(); // its report is answered, and wakes poll and heartbeat
  await until(() => polls.length === 1 && beats.length === 1);
  expect(beats).toEqual([0]); // it does not wait at the server, so that its answer comes at once

  down.add('report');
  failed.clear();
  ends.get('2')?.();
  await until(() => failed.has('report') && ofActions().length === 3);
  ends.get('3')?.(); // behind that one
  await until(() => ofActions().length === 4);
  down.clear();
  polls[0]?.writeHead(204).end(); // wakes the report
  await until(() => ofActions().length === 6);
  await played.close();
  expect(reports).toEqual(['1', '2', '3']);
  const late = (id: string) =>
    expect.stringMatching(
      new RegExp(
        `^Action ${id}, attempt 1: cancelled\\. The server has the result now, \\d.* after its end\\.$`,
      ),
    );
  expect(played.said[0]).toMatch(/^The server does not answer; trying again: /);
  expect(played.said[2]).toMatch(/^The server answers again, after \d/);
  expect(ofActions()).toEqual([
    'Action 1, attempt 1: cancelled. The result is kept until the server has it.',
    late('1'),
    'Action 2, attempt 1: cancelled. The result is kept until the server has it.',
    'Action 3, attempt 1: cancelled. The result is kept until the server has it.',
    late('2'),
    late('3'),
  ]);
});

it('issue 11: ends if the server refuses the first request, but not a proxy, nor a later one', async () => {
  const refused = await scene((_request, response) =>
    json(response, { error: 'Who is that?', code: 'X' }, 401),
  );
  await expect(refused.running).rejects.toThrow('Who is that? (401)');
  await refused.close();

  let asked = 0;
  const later = await scene((_request, response) => {
    asked += 1;
    if (asked === 1) response.writeHead(401).end('<html>');
    else if (asked === 2) json(response, { actions: [] });
    else json(response, { error: 'no', code: 'X' }, 401);
  });
  await expect.poll(() => asked, { timeout: 60_000, interval: 2 }).toBeGreaterThan(5);
  await later.close();
  expect(await later.running).toEqual({ undelivered: 0 });
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
