import { readdirSync, readFileSync } from 'node:fs';
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

test('the commands of docs/orders.md use the bot that they create, whatever others exist', async () => {
  t.secret((await t.post('/api/bots')).body.botToken);
  await runPage(t, 'orders.md');
});

test('README and all pages name the server, the token and the content type alike', () => {
  const docs = new URL('../../../docs/', import.meta.url);
  const pages = [new URL('../README.md', docs), ...readdirSync(docs).map((name) => new URL(name, docs))];
  for (const page of pages.filter(({ pathname }) => pathname.endsWith('.md'))) {
    const text = readFileSync(page, 'utf8');
    const used = [...text.matchAll(/-H "\$([A-Z]+)"/g)].map(([, name]) => name as string);
    const isSet = (name: string) => ['OPERATOR', 'JSON'].includes(name) || text.includes(`${name}="`);
    expect(
      used.filter((name) => !isSet(name)),
      page.pathname,
    ).toEqual([]);
    const operators = [...text.matchAll(/(\w+)="authorization: Bearer (?:\$\(cat|<|…)/gi)];
    expect(new Set(operators.map(([, name]) => name)), page.pathname).not.toContain('AUTH');
  }
});
