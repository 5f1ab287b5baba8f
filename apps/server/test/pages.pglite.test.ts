import { afterEach, beforeEach, expect, test } from 'vitest';
import { runPage } from '../testing/docs-page.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeEach(async () => {
  t = await testServer();
});
afterEach(() => t.close());

test.each([
  ['hosts.md', 16],
  ['checkin.md', 20],
  ['workflows.md', 6],
  ['batches.md', 8],
  ['tasks.md', 25],
  ['orders.md', 6],
  ['events.md', 3],
  ['mdm.md', 3],
  ['pipeline.md', 5],
  ['callbacks.md', 11],
  ['webhooks.md', 5],
])('every command of docs/%s is answered as the page says', async (page, commands) => {
  expect(await runPage(t, page)).toBeGreaterThanOrEqual(commands);
});
