import { afterAll, expect, test } from 'vitest';
import { muster, serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';

/** The real command on the embedded database. Needs the build, which `npm test` makes first. */
const folder = temporaryFolder();
afterAll(() => folder.remove());

test('muster check goes through a running server, and works without one', {
  timeout: 300_000,
}, async () => {
  const database = await processDatabase(`${folder.path}/data`);
  const environment = {
    ...database.environment,
    MUSTER_OPERATOR_TOKEN: 'a-token-of-more-than-32-characters',
  };
  const server = await serve(environment);
  try {
    const queued = await fetch(`${server.url}/api/lanes/printer/actions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${environment.MUSTER_OPERATOR_TOKEN}`,
        'content-type': 'application/json',
      },
      body: '{"kind": "print"}',
    });
    expect(queued.status).toBe(201);
    const beside = await muster(['check'], environment);
    expect(beside).toEqual({ code: 0, out: '1 lanes, 1 actions, 1 events, 0 violations.\n', notes: '' });
  } finally {
    await server.stop();
  }
  const alone = await muster(['check'], environment);
  expect(alone).toEqual({ code: 0, out: '1 lanes, 1 actions, 1 events, 0 violations.\n', notes: '' });
});
