import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../../scripts/console.mjs';
import { startBrowser } from '../../../testing/browser.mjs';
import { inTab, type Sitting, sitDown } from '../testing/console-stage.ts';
import { type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Changes of many at once and their messages, in a real browser against the real server. */
const MANY = 101;
let t: TestServer;
let browser: Browser;
let desk: Sitting;
let device: FakeDevice;
beforeAll(async () => {
  buildConsole();
  t = await testServer();
  const lines = Array.from({ length: MANY }, (_, n) => `k${n},Kiosk ${n},kiosk`);
  await t.send('POST', '/api/devices/import', ['externalId,name,tags', ...lines].join('\n'), {
    headers: { 'content-type': 'text/csv' },
  });
  device = await fakeDevice(t, { name: 'Tablet 0412', tags: ['alone'] });
  browser = await startBrowser();
  desk = await sitDown(browser, t.server.url, t.operator);
});
afterAll(async () => {
  await browser?.close();
  await t?.close();
});

const dialog = () => desk.page.getByRole('dialog').last();
const batches = async () => (await t.get('/api/batches')).body.batches.length;

test('a batch needs targets that exist, and asks for confirmation above a hundred devices', async () => {
  const { page } = desk;
  await desk.go('/batches');
  await page.getByRole('button', { name: 'New batch' }).click();
  await dialog().getByLabel('Kind').fill('WIFI');
  // without tags it does not go to all devices
  expect(await dialog().getByRole('button', { name: 'Assign' }).isDisabled()).toBe(true);
  await dialog().getByLabel('Tags').fill('kioks');
  await dialog().getByRole('button', { name: 'Assign' }).click();
  // inside the dialog, where it can be read: the page behind is covered
  await dialog().getByText('No device has the tag kioks.').waitFor();
  await dialog().getByLabel('Tags').fill('kiosk');
  await dialog().getByLabel('At most per minute').fill('30');
  await dialog().getByLabel('Abort at % failed').fill('5');
  await dialog().getByRole('button', { name: 'Assign' }).click();
  await page.getByRole('heading', { name: `Assign WIFI for ${MANY} devices?` }).waitFor();
  expect(await batches()).toBe(0);
  await dialog()
    .getByRole('button', { name: `Assign for ${MANY} devices` })
    .click();
  await page.waitForURL('**/batches/1');
  await page.getByRole('heading', { name: 'Batch 1', level: 1 }).waitFor();
  expect((await t.get('/api/batches/1')).body).toMatchObject({
    total: MANY,
    ratePerMinute: 30,
    abort: { failurePercent: 5, minimumSample: 20 },
  });
  // in the list it is paused in place, also with the keyboard
  await desk.go('/batches');
  await page.locator('[data-row]').getByRole('button', { name: 'Pause' }).waitFor();
  await desk.changesBy('j', 'p');
  await page.locator('[data-row]').getByRole('button', { name: 'Resume' }).waitFor();
  await t.post('/api/batches/1/cancel');
});

test('running a workflow for more than a hundred devices needs a confirmation', async () => {
  const { page } = desk;
  await t.post('/api/workflows', {
    name: 'nightly',
    schedule: { cron: '0 5 * * 1-6' },
    targets: { all: true },
    action: { kind: 'SYNC' },
  });
  await desk.go('/workflows');
  await page.getByText('From Monday to Saturday at 05:00, UTC').waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('heading', { name: `Run nightly (SYNC) for ${MANY + 1} devices?` }).waitFor();
  await dialog().getByRole('button', { name: 'Keep as it is' }).click();
  expect((await t.get('/api/workflows/1/runs')).body.runs).toEqual([]);
});

test('a key cancels the focused row, which stays and shows its outcome', async () => {
  const { page } = desk;
  await device.assign('LOCATE');
  await desk.go('/actions?state=pending&kind=LOCATE');
  const row = page.getByRole('table', { name: 'Actions' }).locator('tbody tr');
  await row.first().waitFor();
  await row.getByText('pending').waitFor();
  await desk.changesBy('j', 'c');
  await row.getByText('It was cancelled.').waitFor();
  expect(await row.count()).toBe(1);
});

test('a cause of dead letters links to exactly those it counts', async () => {
  const { page } = desk;
  for (const [kind, error] of [
    ['UPDATE', 'no space left on disk 3'],
    ['UPDATE', 'refused'],
  ] as const) {
    await device.assign(kind, { maxAttempts: 1 });
    const { action } = await device.checkIn();
    await device.report(action, 'failed', { error });
  }
  await desk.go('/dead-letters');
  await page.getByText('2 dead letters of 2 causes').waitFor();
  await page
    .locator('[data-row]')
    .filter({ hasText: 'no space left' })
    .getByRole('link', { name: 'Show these 1' })
    .click();
  const rows = page.getByRole('table', { name: 'Actions' }).locator('tbody tr');
  await rows.getByText('no space left on disk 3').waitFor();
  expect(await rows.count()).toBe(1);
});

test('a part of a name that the palette does not find is searched among the devices', async () => {
  const { page } = desk;
  await page.keyboard.press('Control+k');
  await page.getByLabel('Page, id, name or command').fill('0412');
  await page.getByText('Devices with “0412” in their name').click();
  await page.getByRole('table', { name: 'Devices' }).getByText('Tablet 0412').waitFor();
});

test('signing in in one tab also signs in the other, which was waiting at the sign-in page', async () => {
  const { page } = desk;
  const other = inTab(await page.context().newPage());
  await other.page.goto(`${t.server.url}/actions`);
  await other.page.getByRole('heading', { name: 'Actions' }).waitFor();
  await page.context().clearCookies();
  for (const one of [other.page, page]) {
    await one.reload();
    await one.getByLabel('Operator token').waitFor();
  }
  await page.getByLabel('Operator token').fill(t.operator);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  await other.page.bringToFront();
  await other.page.getByRole('heading', { name: 'Actions' }).waitFor();
  await other.page.close();
});
