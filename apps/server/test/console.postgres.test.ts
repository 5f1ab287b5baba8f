import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../../scripts/console.mjs';
import { startBrowser } from '../../../testing/browser.mjs';
import { inTab, PATIENCE_MS, type Sitting, sitDown } from '../testing/console-stage.ts';
import { type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/**
 * The pages in a real browser against the real server: one browser and one server for all, because each costs seconds. What
 * is looked for is what a person sees; how soon it comes is no promise.
 */
let t: TestServer;
let browser: Browser;
let desk: Sitting;
let devices: readonly FakeDevice[];
/** Longer than any test: what is processed is completed by the test, when both tabs have shown it. */
const ORDER_SECONDS = 3_600;

beforeAll(async () => {
  buildConsole();
  t = await testServer({ settings: { MUSTER_ORDER_SECONDS: String(ORDER_SECONDS) } });
  browser = await startBrowser();
  devices = await Promise.all(
    [1, 2, 3, 4].map((n) => fakeDevice(t, { name: `Tablet ${n}`, tags: ['kiosk'] })),
  );
  desk = await sitDown(browser, t, t.operator);
});
afterAll(async () => {
  await browser?.close();
  await t?.close();
});

const at = (n: number) => devices[n - 1] as FakeDevice;
/** Hands out what is next for a device and says how it went. */
async function perform(device: FakeDevice, status: 'done' | 'failed', more = {}) {
  const { action } = await device.checkIn();
  await device.report(action, status, more);
  return action.id as string;
}

test('a wrong token is refused in a sentence, and the page stays closed', async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.goto(`${t.server.url}/actions`);
  await page.getByLabel('Operator token').fill('mst_operator_1_nobodys');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('MUSTER_').waitFor();
  expect(await page.getByRole('navigation', { name: 'Pages' }).count()).toBe(0);
  await context.close();
});

test('what is assigned is seen waiting, delivered and done, without a reload', async () => {
  const { page } = desk;
  await desk.go(`/devices/${at(1).id}`);
  await page.getByRole('button', { name: 'Assign' }).click();
  await page.getByLabel('Kind').fill('LOCK');
  await page.getByLabel('Payload').fill('{"pin": "1234", "minutes": 5}');
  await page.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
  const waiting = page.getByRole('table', { name: 'What waits' });
  await waiting.getByText('The device has not come yet.').waitFor();

  const { action } = await at(1).checkIn();
  await waiting.getByText('With the device').waitFor();
  await at(1).report(action, 'done');
  await page.getByRole('table', { name: 'What it did' }).getByText('succeeded').waitFor();
  await page.getByText('Nothing waits for it.').waitFor();
});

test('the page of an action says why it waits, and the one button that helps is there', async () => {
  const { page } = desk;
  const first = await at(2).assign('SYNC');
  const behind = await at(2).assign('UPDATE');
  await desk.go(`/actions/${behind}`);
  const why = page.getByRole('region', { name: 'Why not yet' });
  await why.getByText(`Behind action ${first}`).waitFor();
  // the cause is that of the first one
  await why.getByText('The device has not come yet.').waitFor();
  await why.getByRole('button', { name: 'To front' }).click();
  await why.getByText('Nothing to press').waitFor();

  // clocks and pauses have sentences of their own
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const { body: later } = await t.post(`/api/devices/${at(2).id}/actions`, {
    kind: 'LATER',
    notBefore: tomorrow,
  });
  await desk.go(`/actions/${later.id}`);
  await why.getByText(/Not before/).waitFor();
  await t.post('/api/pause', {});
  // a pause is no event: whoever opens the page sees it
  await desk.go('/batches');
  await desk.go(`/actions/${later.id}`);
  await why.getByRole('button', { name: 'Resume everything' }).click();
  await why.getByText(/Not before/).waitFor();
});

test('dead letters are sorted by cause and redriven by it', async () => {
  const { page } = desk;
  for (const n of [3, 4]) {
    await at(n).assign('INSTALL', { maxAttempts: 1 });
    await perform(at(n), 'failed', { error: `no space left on disk ${n}` });
  }
  await desk.go('/dead-letters');
  await page.getByText('2 dead letters of 1 cause').waitFor();
  await page.getByRole('button', { name: 'Redrive 2' }).click();
  await page.getByText('No dead letters.').waitFor();
  expect((await at(3).queue()).map((one) => one.kind)).toEqual(['INSTALL']);
});

test('many are cancelled by a filter, and what came later is not touched', async () => {
  const { page } = desk;
  await desk.go('/actions');
  await page.getByLabel('Filter').fill('kind:INSTALL colour:red');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('There is no filter "colour"').waitFor();
  await page.getByLabel('Filter').fill('kind:INSTALL state:pending');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/kind=INSTALL/);
  await page.getByRole('checkbox').nth(1).waitFor();
  const later = await at(3).assign('INSTALL');
  await page.getByRole('checkbox').first().click();
  await page.getByRole('button', { name: 'All that match' }).click();
  await page.getByRole('button', { name: 'Cancel 2' }).click();
  await page.getByText('2 actions cancelled.').waitFor();
  expect((await at(3).queue()).map((one) => one.id)).toEqual([later]);
});

test('a viewer is shown no acts, and the server refuses them from the same browser', async () => {
  const { token } = await t.token({ kind: 'operator', role: 'viewer', name: 'vera' });
  const seat = await sitDown(browser, t, token, `/devices/${at(1).id}`);
  await seat.page.getByRole('heading', { name: 'Tablet 1' }).waitFor();
  expect(await seat.page.getByRole('button', { name: 'Assign' }).count()).toBe(0);
  const status = await seat.page.evaluate(`fetch('/api/devices/${at(1).id}/actions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"kind": "LOCK"}',
  }).then((answer) => answer.status)`);
  expect(status).toBe(403);
  await seat.page.context().close();
});

test.each(['with locks of the browser', 'by beats, where there are no locks'])(
  'one tab leads the order board and another takes over, %s',
  async (how) => {
    const context = desk.page.context();
    const open = async () => {
      const page = await context.newPage();
      if (how.startsWith('by'))
        await page.addInitScript("Object.defineProperty(navigator, 'locks', { value: undefined })");
      await page.goto(`${t.server.url}/orders`);
      return page;
    };
    const first = await open();
    await first.getByText('this tab leads').waitFor();
    const second = await open();
    await second.getByText('another tab leads').waitFor();

    await first.getByRole('button', { name: '+ Bot' }).click();
    await second.getByRole('button', { name: '+ VIP' }).click();
    const tabs = [first, second];
    for (const tab of tabs)
      await tab.getByRole('list', { name: 'PROCESSING' }).getByRole('progressbar').waitFor();
    const [order] = (await t.get('/api/orders')).body.orders;
    await t.send('PATCH', `/api/orders/${order.id}`, { status: 'COMPLETE' });
    for (const tab of tabs) await tab.getByRole('list', { name: 'COMPLETE' }).getByText('VIP').waitFor();

    await first.close();
    await second.getByText('this tab leads').waitFor();
    await second.getByRole('button', { name: '+ Order' }).click();
    await second.getByRole('list', { name: 'PROCESSING' }).getByRole('progressbar').waitFor();
    await second.close();
    await t.post('/api/orders/clear', {});
    for (const bot of (await t.get('/api/bots')).body.bots) await t.del(`/api/bots/${bot.id}`);
  },
);

test('every page is free of faults in both themes, at a desk and on a phone', async () => {
  const batch = await t.post('/api/batches', { targets: { tags: ['kiosk'] }, action: { kind: 'SYNC' } });
  const host = await t.post('/api/hosts', { name: 'web-1' });
  t.secret(host.body.agentToken);
  await t.post(`/api/hosts/${host.body.id}/services`, { unitName: 'nginx.service' });
  const workflow = await t.post('/api/workflows', {
    name: 'nightly',
    schedule: { cron: '0 3 * * *' },
    targets: { all: true },
    action: { kind: 'SYNC' },
  });
  const pc = await t.post('/api/pcs', { name: 'rack-1' });
  t.secret(pc.body.runnerToken);
  const pages: Record<string, string> = {
    '/': 'Overview',
    '/targets': 'Targets',
    '/targets?type=hosts': 'Targets',
    '/targets?type=pcs': 'Targets',
    '/targets?type=bots': 'Targets',
    [`/devices/${at(1).id}`]: 'Tablet 1',
    [`/hosts/${host.body.id}`]: 'web-1',
    '/actions': 'Actions',
    '/actions/1': 'LOCK',
    '/dead-letters': 'Dead letters',
    '/batches': 'Batches',
    [`/batches/${batch.body.id}`]: `Batch ${batch.body.id}`,
    '/tasks': 'Tasks & PCs',
    '/workflows': 'Workflows',
    [`/workflows/${workflow.body.id}`]: 'nightly',
    '/orders': 'Orders',
    '/settings': 'Settings',
    '/audit': 'Audit log',
  };
  const seat = inTab(await desk.page.context().newPage());
  await seat.page.goto(t.server.url);
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    await seat.page.emulateMedia({ colorScheme });
    await seat.page.setViewportSize({ width, height: 800 });
    for (const [path, heading] of Object.entries(pages)) {
      await seat.go(path);
      await seat.page.getByRole('heading', { level: 1, name: heading }).waitFor();
      // what is still loading has no text yet
      await expect.poll(() => seat.page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      expect(await seat.faults(), `${path} in ${colorScheme}`).toEqual([]);
    }
  }
  expect(seat.complaints).toEqual([]);
  await seat.page.close();
});
