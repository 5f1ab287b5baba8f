import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../../scripts/console.mjs';
import { startBrowser } from '../../../testing/browser.mjs';
import { type Sitting, sitDown } from '../testing/console-stage.ts';
import { fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** Lists of targets, the audit log and pages of unknown things, in a real browser against the real server. */
let t: TestServer;
let browser: Browser;
let desk: Sitting;
beforeAll(async () => {
  buildConsole();
  t = await testServer({ settings: { MUSTER_ORDER_SECONDS: '3600' } });
  browser = await startBrowser();
  desk = await sitDown(browser, t.server.url, t.operator);
});
afterAll(async () => {
  await browser?.close();
  await t?.close();
});

const field = () => desk.page.getByRole('searchbox').or(desk.page.getByRole('combobox')).first();
async function filterBy(text: string) {
  await field().fill(text);
  await desk.page.getByRole('button', { name: 'Filter', exact: true }).click();
}
const rowsOf = (table: string) => desk.page.getByRole('table', { name: table }).locator('tbody tr');

test('hosts and PCs are filtered by a part of their name and by presence, and the address has the filter', async () => {
  for (const name of ['web-1', 'web-2', 'db-1']) {
    const { body } = await t.post('/api/hosts', { name });
    t.secret(body.agentToken);
  }
  for (const name of ['rack-1', 'bench-1']) {
    const { body } = await t.post('/api/pcs', { name });
    t.secret(body.runnerToken);
  }
  const { page } = desk;
  for (const [type, table, text, found] of [
    ['hosts', 'Hosts', 'web', 2],
    ['pcs', 'PCs', 'rack', 1],
  ] as const) {
    await desk.go(`/targets?type=${type}`);
    await rowsOf(table).first().waitFor();
    await filterBy(`${text} online:false`);
    await page.waitForURL(`**/targets?type=${type}&text=${text}&online=false`);
    await expect.poll(() => rowsOf(table).count()).toBe(found);
    await filterBy(`${text} online:true`);
    await page.getByText(type === 'hosts' ? 'No host matches.' : 'No PC matches.').waitFor();
    await filterBy('colour:red');
    await page.getByText('There is no filter "colour". There are text, online.').waitFor();
  }
  expect(desk.complaints).toEqual([]);
});

test('a bot has the same name in its list and on the board, with its order, and is filtered by status', async () => {
  const bots: { id: string; number: number }[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { body } = await t.post('/api/bots');
    t.secret(body.botToken);
    bots.push(body);
  }
  const [gone, busy, idle] = bots as [(typeof bots)[0], (typeof bots)[0], (typeof bots)[0]];
  await t.del(`/api/bots/${gone.id}`);
  await t.post('/api/orders', { type: 'NORMAL' });
  const { body: order } = await t.post(`/api/bots/${busy.id}/claim`);
  const { page } = desk;
  await desk.go('/targets?type=bots');
  const row = rowsOf('Bots').filter({ hasText: `bot ${busy.number}` });
  await row.getByText('PROCESSING').waitFor();
  await row.getByRole('progressbar').waitFor();
  await filterBy('status:IDLE');
  await rowsOf('Bots')
    .filter({ hasText: `bot ${idle.number}` })
    .waitFor();
  await expect.poll(() => rowsOf('Bots').count()).toBe(1);
  await filterBy('deleted:true');
  await rowsOf('Bots')
    .filter({ hasText: `bot ${gone.number}` })
    .waitFor();
  await filterBy('status:PROCESSING');
  // the number of the order links to the board, where the bot has the same name
  await row.getByRole('link', { name: `#${order.orderNumber}` }).click();
  const board = page.getByRole('list', { name: 'PROCESSING' });
  await board.getByText(`bot ${busy.number}`, { exact: true }).waitFor();
  expect(desk.complaints).toEqual([]);
});

test('free slots say why: no runner, no task, work that the runner has not asked for, nothing left for this PC', async () => {
  const pc = await fakePc(t, 3, { slots: 4 });
  const { page } = desk;
  await desk.go(`/tasks?pc=${pc.id}`);
  await page.getByText('4 free: its runner is offline.').waitFor();
  await pc.claim();
  // a contact causes no hint to an open page
  await page.reload();
  await page.getByText('4 free: no task is active.').waitFor();
  const task = await newTask(
    t,
    { deviceIds: pc.devices.map(({ id }) => id) },
    { name: 'version 7', maxAttempts: 1 },
  );
  await page
    .getByText(/^4 free: 3 devices of version 7 wait until its runner asks; it was last heard of /)
    .waitFor();
  const [first, second] = (await pc.claim({ max: 2 })) as [Held, Held];
  await page.getByText(/^2 free: 1 device of version 7 waits until its runner asks/).waitFor();
  const [third] = (await pc.claim()) as [Held];
  await page.getByText('1 free: all its 3 ready devices are busy.').waitFor();
  await pc.complete(first);
  await page.getByText('2 free: version 7 has nothing to hand out to its other devices now.').waitFor();
  // by name, as in the slots
  await pc.fail(second);
  const { name } = (await t.get(`/api/devices/${second.deviceId}`)).body;
  await page.getByTitle(name, { exact: true }).waitFor();
  await pc.complete(third);
  await t.post(`/api/devices/${second.deviceId}/clear-error`);
  await expect.poll(async () => (await t.get(`/api/tasks/${task.id}`)).body.endedAt).not.toBeNull();
  expect(desk.complaints).toEqual([]);
});

test('a page of something unknown has a heading, a sentence and a way back, and asks only once', async () => {
  const { page } = desk;
  const seen: string[] = [];
  page.on('response', (response) => {
    if (response.status() >= 400) seen.push(`${response.status()} ${response.url()}`);
  });
  for (const [path, heading, back] of [
    ['/devices/999999', 'There is no device 999999', 'All devices'],
    ['/hosts/0', 'There is no host 0', 'All hosts'],
    ['/actions/999999999', 'There is no action 999999999', 'All actions'],
    ['/batches/x', 'There is no batch x', 'All batches'],
    ['/tasks/x', 'There is no task x', 'All tasks'],
    ['/workflows/x', 'There is no workflow x', 'All workflows'],
    ['/webhooks/x', 'There is no webhook x', 'All webhooks'],
    ['/phones/999999', 'There is no phone 999999', 'All phones'],
  ] as const) {
    await desk.go(path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.getByRole('link', { name: back }).waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  }
  expect(await desk.faults()).toEqual([]);
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.every((one) => one.startsWith('404'))).toBe(true);
  // only the browser's own message about a 404
  expect(desk.complaints.filter((one) => !one.includes('status of 404'))).toEqual([]);
  desk.complaints.length = 0;
});

test('the page of a device without a phone names the device and says what to do, and does not ask again and again', async () => {
  const device = await fakeDevice(t, { name: 'Tablet 9' });
  const { page } = desk;
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().endsWith(`/api/devices/${device.id}/mdm`)) asked += 1;
  });
  await desk.go(`/phones/${device.id}`);
  await page.getByRole('heading', { level: 1, name: 'Tablet 9' }).waitFor();
  await page.getByText('No phone is enrolled as this device').waitFor();
  // hints of the stream make it read the device, which exists, but not the refused phone
  const again = page.waitForResponse((response) => response.url().endsWith(`/api/devices/${device.id}`));
  await device.assign('SYNC');
  await again;
  expect(asked).toBe(1);
  expect(await desk.faults()).toEqual([]);
  await page.getByRole('link', { name: 'Tablet 9: its lane' }).click();
  await page.getByRole('table', { name: 'Waiting actions' }).waitFor();
  desk.complaints.length = 0;
});

test('the foot of the navigation shows name and role in full; on a phone the lines of cards begin at the left', async () => {
  const { page } = desk;
  await desk.go('/targets?type=hosts');
  const role = page.getByRole('banner').getByText('admin', { exact: true });
  await role.waitFor();
  const isCut = (element: { scrollWidth: number; clientWidth: number }) =>
    element.scrollWidth > element.clientWidth;
  expect(await role.evaluate(isCut as never)).toBe(false);
  await page.setViewportSize({ width: 390, height: 844 });
  const row = rowsOf('Hosts').first();
  const left = async (name: RegExp) => (await row.getByText(name).first().boundingBox())?.x;
  const pending = /^\d+ pending$/;
  await row.getByText(pending).waitFor();
  expect(await left(pending)).toBe(await left(/^web-1$/));
  await desk.go('/orders');
  const tops = new Set<number | undefined>();
  const acts = page.locator('#main [data-acts]');
  await acts.getByRole('button', { name: '+ Order' }).waitFor();
  for (const name of ['+ Order', '+ VIP', '+ Bot', '− Bot'])
    tops.add((await acts.getByRole('button', { name }).boundingBox())?.y);
  expect(tops.size).toBe(1);
  expect(await desk.faults()).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
});
