import { afterAll, expect, test } from 'vitest';
import { serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';

/** A server that is told to stop, as a balancer and its clients see it. Needs the build, which `npm test` makes first. */
const folder = temporaryFolder();
afterAll(() => folder.remove());

const token = 'a-token-of-more-than-32-characters';

test('from SIGTERM on, /readyz says draining while requests are still served; a second signal ends it at once', async () => {
  const database = await processDatabase(`${folder.path}/data`);
  const server = await serve({
    ...{ ...database.environment, MUSTER_OPERATOR_TOKEN: token },
    // longer than any machine takes for this test
    ...{ MUSTER_DRAIN_SECONDS: '300', MUSTER_METRICS_ALLOW: '127.0.0.1' },
  });
  const ask = async (path: string, body?: object) => {
    const response = await fetch(server.url + path, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, text: await response.text() };
  };
  const ready = async () => (await ask('/readyz')).status;
  try {
    await expect.poll(ready).toBe(200);
    const claim = async (): Promise<string> => {
      const { text } = await ask('/api/lanes/a/claim', { wait: 25, worker: 'a' });
      return JSON.parse(text).actions[0]?.kind ?? claim();
    };
    const claimed = claim();
    await expect
      .poll(async () => /muster_parked_waiters(?:{.*})? (\d+)/.exec((await ask('/metrics')).text)?.[1])
      .toBe('1');

    server.process.kill('SIGTERM');
    await expect.poll(ready).toBe(503);
    const said = await ask('/readyz');
    expect({ ...said, text: JSON.parse(said.text) }).toEqual({
      status: 503,
      text: {
        code: 'MUSTER_DRAINING',
        error: 'This node is draining: it finishes its requests and stops. Use another node.',
      },
    });
    // a balancer asks each second
    expect(server.log()).not.toContain('The request was refused.');
    expect(server.log().match(/listening/gi)).toEqual(['Listening']);
    // the balancer may not have asked yet: whatever comes is served, and wakes up those that wait
    expect((await ask('/api/lanes/a/actions', { kind: 'late' })).status).toBe(201);
    expect(await claimed).toBe('late');
  } finally {
    // two signals at once count as one, so it is told until it listens
    const telling = setInterval(() => server.process.kill('SIGTERM'), 100);
    expect(await server.stop('SIGTERM')).toBe(130);
    clearInterval(telling);
    await database.drop();
  }
});
