import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createRunner, type RunnerOptions } from '../src/index.ts';
import { json, type Play, playedServer } from '../testing/played-server.ts';

/** The runner against a server that the test plays itself. */
async function scene(play: Play, words = 'true', more: Partial<RunnerOptions> = {}) {
  const folder = more.folder ?? mkdtempSync(path.join(tmpdir(), 'muster-runner-'));
  const script = path.join(folder, 'script');
  writeFileSync(script, `#!/bin/sh\n${words}\n`);
  chmodSync(script, 0o755);
  const server = await playedServer(play);
  const runner = createRunner({
    server: server.url,
    token: async () => 'a-token',
    pcId: '2',
    folder,
    script,
    environment: { PATH: process.env.PATH },
    heartbeatMs: 5,
    killAfterMs: 50,
    backoff: { firstMs: 1, mostMs: 4 },
    ...more,
  });
  const running = runner.run();
  return {
    requests: server.requests,
    running,
    stop: runner.stop,
    journal: () => readFileSync(path.join(folder, 'journal.ndjson'), 'utf8'),
    async close() {
      runner.stop();
      server.cut();
      await running.catch(() => {});
      server.close();
    },
  };
}

const given = (id: string, attempt = 1) => ({
  id,
  taskId: '3',
  deviceId: `device ${id}`,
  pcId: '2',
  kind: 'UPDATE',
  attempt,
  maxAttempts: 3,
  status: 'running',
  startedAt: new Date().toISOString(),
  timeoutAt: new Date(Date.now() + 600_000).toISOString(),
  payload: null,
});
const list = (response: ServerResponse, ...taskDevices: object[]) => json(response, { taskDevices });
const yes = (response: ServerResponse) => json(response, { accepted: true, status: 'running' });
const until = async (look: () => boolean) => {
  while (!look()) await new Promise((resolve) => setTimeout(resolve, 2));
};

it('asks what it holds at the start and after a failed request, and runs it once', async () => {
  let claims = 0;
  const played = await scene((request, response) => {
    if (request.url === '/api/pcs/2/running') list(response, ...(claims === 0 ? [] : [given('7')]));
    else if (request.url !== '/api/pcs/2/claim') yes(response);
    else {
      claims += 1;
      if (claims <= 3) request.socket.destroy(); // the answer, with 7 in it, is lost
    }
  });
  await until(() => claims > 3 && played.requests.some((line) => line.endsWith('/complete')));
  await played.close();
  expect(played.requests.filter((line) => line.includes('/pcs/')).slice(0, 3)).toEqual([
    'GET /api/pcs/2/running',
    'POST /api/pcs/2/claim',
    'GET /api/pcs/2/running',
  ]);
  expect(played.requests.filter((line) => line.endsWith('/complete'))).toHaveLength(1);
});

it('repeats a report until it is answered, reduces one that is refused, and reports nothing before its ack', async () => {
  const refusals = [500, 401, 503, 400];
  const said: string[] = [];
  let ack: ServerResponse | undefined;
  let claim: ServerResponse | undefined;
  let other = 0;
  const played = await scene((request, response, body) => {
    if (request.url === '/api/pcs/2/running') list(response, given('1'));
    else if (request.url === '/api/pcs/2/claim') claim = response;
    else if (request.url === '/api/task-devices/1/ack') ack = response;
    else if (request.url === '/api/task-devices/1/complete') {
      said.push(body);
      const status = refusals.shift();
      if (status) json(response, { error: 'no', code: 'X' }, status);
      else yes(response);
    } else {
      if (request.url === '/api/task-devices/2/complete') other += 1;
      yes(response);
    }
  }, `echo '{"a": 1}'`);
  await until(() => ack !== undefined && claim !== undefined && played.journal().includes('"result"'));
  // a later one is acknowledged, and so reported, earlier
  list(claim as unknown as ServerResponse, given('2'));
  await until(() => other === 1);
  expect(said).toEqual([]);
  yes(ack as unknown as ServerResponse);
  await until(() => said.length === 5);
  await played.close();
  expect(said.slice(0, 4)).toEqual(Array(4).fill('{"attempt":1,"result":{"a":1}}'));
  expect(said[4]).toBe(JSON.stringify({ attempt: 1, result: '{"a":1}' }));
});

it('reports a timeout as such, not as a failure', async () => {
  let failed: object | undefined;
  const played = await scene((request, response, body) => {
    if (request.url === '/api/pcs/2/running')
      list(response, { ...given('1'), timeoutAt: new Date(Date.now() - 1_000).toISOString() });
    else if (request.url?.endsWith('/fail')) {
      failed = JSON.parse(body);
      yes(response);
    } else if (request.url !== '/api/pcs/2/claim') yes(response);
  }, 'sleep 600');
  await until(() => failed !== undefined);
  await played.close();
  expect(failed).toEqual({ attempt: 1, error: expect.stringMatching(/^TIMEOUT/), timedOut: true });
});

it.each([
  [{ running: true, cancelRequested: true }, /^CANCELLED/],
  [{ running: false }, /^GIVEN_UP/],
])('stops a script when a heartbeat says %j', async (beat, error) => {
  let failed: { error: string } | undefined;
  const played = await scene((request, response, body) => {
    if (request.url === '/api/pcs/2/running') list(response, given('1'));
    else if (request.url === '/api/pcs/2/heartbeat')
      json(response, { taskDevices: [{ id: '1', attempt: 1, ...beat }] });
    else if (request.url?.endsWith('/fail')) {
      failed = JSON.parse(body);
      yes(response);
    } else if (request.url?.endsWith('/ack')) yes(response);
  }, 'sleep 600');
  await until(() => failed !== undefined);
  await played.close();
  expect(failed?.error).toMatch(error);
});

it('ends if the first request is refused, and goes on if a later one is', async () => {
  const refused = await scene((_request, response) =>
    json(response, { error: 'Who is that?', code: 'X' }, 401),
  );
  await expect(refused.running).rejects.toThrow('Who is that? (401)');
  await refused.close();

  let claims = 0;
  const later = await scene((request, response) => {
    if (request.url === '/api/pcs/2/running') list(response);
    else {
      claims += 1;
      json(response, { error: 'no', code: 'X' }, 401);
    }
  });
  await until(() => claims > 3);
  await later.close();
  expect(await later.running).toEqual({ undelivered: 0 });
});

it('takes nothing while the script cannot be run', async () => {
  const sentences: string[] = [];
  let obstacle: string | null = 'The script is gone.';
  const played = await scene(
    (request, response) => {
      if (request.url === '/api/pcs/2/running') list(response);
    },
    'true',
    {
      obstacle: async () => obstacle,
      log: { info: () => {}, warn: (sentence) => void sentences.push(sentence) },
    },
  );
  await until(() => sentences.length > 2);
  expect(played.requests).toEqual([]);
  obstacle = null;
  await until(() => played.requests.includes('POST /api/pcs/2/claim'));
  await played.close();
  expect(new Set(sentences)).toEqual(new Set(['The script is gone.']));
});

it('with a second stop ends what runs, and keeps the report that it cannot deliver', async () => {
  let begun = false;
  const played = await scene(
    (request, response) => {
      if (request.url === '/api/pcs/2/running') list(response, given('1'));
      else if (request.url?.endsWith('/ack')) {
        begun = true;
        yes(response);
      } else if (request.url?.endsWith('/fail')) json(response, { error: 'later', code: 'X' }, 503);
    },
    'sleep 600',
    { heartbeatMs: 600_000 },
  );
  await until(() => begun);
  played.stop();
  played.stop(true);
  expect(await played.running).toEqual({ undelivered: 1 });
  await played.close();
});

it('starts the next attempt for a device once the previous one is gone, not earlier', async () => {
  const calls = path.join(mkdtempSync(path.join(tmpdir(), 'muster-calls-')), 'calls');
  const words = `trap 'sleep 0.02; echo "end $MUSTER_ATTEMPT" >> ${calls}; exit 1' TERM
    echo "begin $MUSTER_ATTEMPT" >> ${calls}
    if [ $MUSTER_ATTEMPT = 1 ]; then while :; do sleep 0.01; done; fi`;
  const read = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []);
  let isGivenUp = false;
  const played = await scene(
    (request, response, body) => {
      if (request.url === '/api/pcs/2/running') list(response, given('1'));
      else if (request.url === '/api/pcs/2/claim') {
        if (!isGivenUp) list(response, { ...given('1', 2) });
        isGivenUp = true;
      } else if (
        request.url?.endsWith('/heartbeat') &&
        isGivenUp &&
        JSON.parse(body).taskDevices[0].attempt === 1 &&
        read().length > 0
      )
        json(response, { taskDevices: [{ id: '1', attempt: 1, running: false }] });
      else yes(response);
    },
    words,
    { killAfterMs: 60_000 },
  );
  await until(() => read().includes('begin 2'));
  await played.close();
  expect(read()).toEqual(['begin 1', 'end 1', 'begin 2']);
});

it('learns of a cancel while its heartbeat waits, names what it is stopping, and keeps its instance over restarts', async () => {
  const beats: { taskDevices: object[]; wait: number }[] = [];
  const instances = new Set<unknown>();
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-runner-'));
  for (const id of ['1', '2']) {
    // two starts
    let isOver = false;
    const played = await scene(
      (request, response, body) => {
        instances.add(request.headers['muster-instance']);
        if (request.url === '/api/pcs/2/running') list(response, given(id));
        else if (request.url === '/api/pcs/2/heartbeat') {
          beats.push(JSON.parse(body));
          json(response, { taskDevices: [{ id, attempt: 1, running: true, cancelRequested: true }] });
        } else if (request.url?.endsWith('/fail')) {
          isOver = true;
          yes(response);
        } else if (request.url?.endsWith('/ack')) yes(response);
      },
      `trap '' TERM; sleep 600`,
      { folder, heartbeatMs: 20_000 },
    );
    await until(() => isOver);
    await played.close();
    expect(beats[0]).toMatchObject({ taskDevices: [{ attempt: 1, stopping: false }], wait: 20 });
    expect(beats[1]).toMatchObject({ taskDevices: [{ attempt: 1, stopping: true }], wait: 20 });
    beats.length = 0;
  }
  expect([...instances]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
});

it('issue 11: an answered claim wakes the heartbeat that waits after an outage, which then does not wait at the server', async () => {
  const said: string[] = [];
  const waits: number[] = [];
  let claim: ServerResponse | undefined;
  const played = await scene(
    (request, response, body) => {
      if (request.url === '/api/pcs/2/running') list(response, given('1'));
      else if (request.url === '/api/pcs/2/claim') claim = response;
      else if (request.url !== '/api/pcs/2/heartbeat') yes(response);
      else if (waits.push(JSON.parse(body).wait) === 1) request.socket.destroy();
    },
    'sleep 600',
    { heartbeatMs: 3_600_000, log: { info: () => {}, warn: (sentence) => void said.push(sentence) } },
  );
  await until(() => claim !== undefined && said.length > 0);
  list(claim as unknown as ServerResponse);
  await until(() => waits.length === 2);
  played.stop(true);
  await played.close();
  expect(waits).toEqual([25, 0]);
  expect(said).toEqual([expect.stringMatching(/^The server does not answer; trying again: /)]);
});
