import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../../scripts/console.mjs';
import { startBrowser } from '../../../testing/browser.mjs';
import { CALLBACKS, OWN_CALL } from '../src/callbacks/message.ts';
import { PATIENCE_MS, type Sitting, sitDown } from '../testing/console-stage.ts';
import { type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';
import type { TestServer } from '../testing/test-server.ts';

/** Reasons, names and words in every list, and the filter field. One browser and one server for all. */
let s: MdmStage;
let t: TestServer;
let browser: Browser;
let desk: Sitting;

beforeAll(async () => {
  buildConsole();
  s = await mdmStage({ settings: { MUSTER_MDM_HOLD_SECONDS: '0' } });
  t = s.t;
  browser = await startBrowser();
  desk = await sitDown(browser, t.server.url, t.operator);
});
afterAll(async () => {
  await browser?.close();
  await s?.close();
});

const tomorrow = () => new Date(t.engine.now().getTime() + 86_400_000);

test('calls of the server to itself have no make-due button, because the server would refuse it', async () => {
  const { db } = t.engine;
  const laneId = await t.engine.ensureLane(db, 1, CALLBACKS, 'of a test');
  const own = { tenantId: 1, laneId, channel: CALLBACKS, kind: OWN_CALL, notBefore: tomorrow() };
  const { id } = await t.engine.enqueue(db, own);
  const { body: other } = await t.post('/api/lanes/desk/actions', { kind: 'PRINT', notBefore: tomorrow() });
  const why = desk.page.getByRole('region', { name: 'Why it waits' });
  const due = why.getByRole('button', { name: 'Make due now' });
  await desk.go(`/actions/${other.id}`);
  await due.waitFor();
  await desk.go(`/actions/${id}`);
  await why.getByText('Nothing to do: it goes out at that time.').waitFor();
  expect(await due.count()).toBe(0);
  expect((await t.post(`/api/actions/${id}/make-due`)).body.code).toBe('MUSTER_NOT_MADE_DUE');

  const rows = desk.page.getByRole('table', { name: 'Actions' });
  await desk.go(`/actions?channel=${CALLBACKS}`);
  await rows.getByRole('checkbox').click();
  await desk.page.getByRole('button', { name: 'Cancel 1' }).waitFor();
  expect(await desk.page.getByRole('button', { name: 'Make 1 due' }).count()).toBe(0);
  // nor is "edit and run again" offered for what cannot be copied
  await t.post(`/api/actions/${id}/cancel`);
  await t.post(`/api/actions/${other.id}/cancel`);
  await desk.go(`/actions/${other.id}`);
  const again = desk.page.getByRole('button', { name: 'Edit and run again' });
  await again.waitFor();
  await desk.go(`/actions/${id}`);
  await desk.page.getByRole('heading', { level: 1, name: OWN_CALL }).waitFor();
  await desk.page.getByText('cancelled', { exact: true }).first().waitFor();
  expect(await again.count()).toBe(0);
  expect((await t.get(`/api/actions/${id}`)).body.fixed).toContain('copy');
  expect((await t.post(`/api/actions/${id}/copy`)).body.code).toBe('MUSTER_NOT_COPIED');
});

test('a phone whose action waits without a push says why and what comes next; its commands have names', async () => {
  const { phone, id } = await s.enrolled({ serial: 'F18' });
  await phone.connect();
  const { page } = desk;
  await desk.go('/phones');
  const row = page.getByRole('table', { name: 'Phones' }).getByRole('row').filter({ hasText: 'F18' });
  await row.getByText('Nothing waits for it.').waitFor();
  await t.post(`/api/devices/${id}/actions`, { kind: 'LATER', notBefore: tomorrow() });
  await row.getByText('1 action waits for it. No push is needed now.').waitFor();
  await desk.go(`/phones/${id}`);
  await page.getByText('LATER').waitFor();
  await page.getByText(/Not before/).waitFor();

  const command = { requestType: 'InstallProfile', keys: { Payload: { $data: 'AA==' } } };
  const { body: queued } = await t.post(`/api/devices/${id}/mdm/commands`, command);
  await desk.go(`/devices/${id}`);
  await page.getByRole('table', { name: 'Waiting actions' }).getByText('InstallProfile').waitFor();
  await desk.go(`/actions/${queued.id}`);
  await page.getByRole('heading', { level: 1, name: 'InstallProfile' }).waitFor();
  await desk.go('/actions?kind=mdm.raw');
  await page.getByRole('table', { name: 'Actions' }).getByText('InstallProfile').waitFor();
  const { found } = (await t.get(`/api/search?q=${queued.id}`)).body;
  expect(found).toContainEqual(expect.objectContaining({ type: 'action', name: 'InstallProfile' }));
  await t.post(`/api/actions/${queued.id}/cancel`);
});

test('each device of a batch says why it waits, or that the batch has not reached it', async () => {
  const devices = await Promise.all(['Till 1', 'Till 2'].map((name) => fakeDevice(t, { name })));
  const made = await t.post('/api/batches', {
    targets: { deviceIds: [...devices.map(({ id }) => id), '999999'] },
    action: { kind: 'SYNC', maxAttempts: 1 },
    ratePerMinute: 1,
  });
  const { id } = made.body;
  await desk.go(`/batches/${id}`);
  const rows = desk.page.getByRole('table', { name: 'Devices of the batch' }).getByRole('row');
  await rows.filter({ hasText: 'Till 1' }).getByText('The device has never checked in').waitFor();
  await rows
    .filter({ hasText: 'Till 2' })
    .getByText('Not queued yet: the batch queues 1 a minute.')
    .waitFor();
  await rows.filter({ hasText: '999999' }).getByText('There is no such device.').waitFor();
  await rows.filter({ hasText: 'Till 2' }).getByText('not queued yet', { exact: true }).waitFor();
  await desk.page.getByRole('navigation', { name: 'Outcome' }).getByText('not queued yet').waitFor();
  await t.post(`/api/batches/${id}/pause`);
  await rows.filter({ hasText: 'Till 1' }).getByRole('button', { name: 'Resume the batch' }).waitFor();
  await rows.filter({ hasText: 'Till 2' }).getByText('Not queued yet: the batch is paused.').waitFor();
  await t.post(`/api/batches/${id}/resume`);
  const [first] = devices as [FakeDevice];
  const { action } = await first.checkIn();
  await rows.filter({ hasText: 'Till 1' }).getByText('With device').waitFor();
  // the batch calls it sent
  await rows.filter({ hasText: 'Till 1' }).getByText('running', { exact: true }).waitFor();
  await first.report(action, 'failed', { error: 'no paper' });
  await rows.filter({ hasText: 'Till 1' }).getByText('no paper').waitFor();
  await t.post(`/api/batches/${id}/cancel`);
});

test('a task has its own page: devices by state, each with its reason, and counts that add up', async () => {
  const pc = await fakePc(t, 2, { slots: 1 });
  const task = await newTask(
    t,
    { deviceIds: pc.devices.map(({ id }) => id) },
    { name: 'burn-in', maxAttempts: 1 },
  );
  const behind = await newTask(t, { all: true }, { name: 'later on' });
  const [held] = (await pc.claim()) as [Held];
  const { page } = desk;
  await desk.go('/tasks');
  await page.getByRole('table', { name: 'Tasks' }).getByRole('link', { name: 'burn-in' }).click();
  await page.getByRole('heading', { level: 1, name: 'burn-in' }).waitFor();
  await page.getByText('1 running', { exact: true }).waitFor();
  await page.getByText('= 2', { exact: true }).waitFor();
  const table = page.getByRole('table', { name: 'Devices of the task' });
  await table.getByText(/^With pc:\d+ since/).waitFor();
  await table.getByText('Its PC takes it as soon as it has a free slot and the device is free').waitFor();

  await pc.fail(held, { error: 'no cable' });
  await page.getByRole('navigation', { name: 'Outcome' }).getByRole('link', { name: 'failed 1' }).click();
  await page.waitForURL(/status=failed/);
  await table.getByText('no cable').waitFor();
  expect(await table.getByRole('row').count()).toBe(2);
  // the address is the page
  await page.reload();
  await table.getByText('no cable').waitFor();
  await page.getByRole('link', { name: '1 pending', exact: true }).click();
  await page.waitForURL(/status=unsupplied/);
  await table.getByText('pending').waitFor();
  expect(await table.getByRole('row').count()).toBe(2);

  await page.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel 1' }).click();
  await page.getByText('It was cancelled.').waitFor();
  await page.getByRole('link', { name: '1 cancelled', exact: true }).click();
  await table.getByText('It was cancelled.').waitFor();
  // one that waits behind another names it
  await desk.go(`/actions/${held.id}`);
  await page.getByRole('link', { name: task.id, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'burn-in' }).waitFor();
  await t.post(`/api/tasks/${behind.id}/cancel`, {});
});

test('a filter is completed with the keyboard: keys, their values, and values that rows have shown', async () => {
  await fakeDevice(t, { name: 'Kiosk 1', tags: ['floor 2'] });
  const { page } = desk;
  await desk.go('/actions');
  await page.getByRole('table', { name: 'Actions' }).getByText('PRINT').first().waitFor();
  const field = page.getByRole('combobox', { name: 'Filter' });
  const offered = page.getByRole('listbox', { name: 'Matches' }).getByRole('option');
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('/');
  await page.keyboard.type('sta');
  expect(await offered.allInnerTexts()).toEqual(['state:']);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect(await field.inputValue()).toBe('state:');
  await page.keyboard.type('pen');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  expect(await field.inputValue()).toBe('state:pending ');
  await page.keyboard.type('kind:pr');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect(await field.inputValue()).toBe('state:pending kind:PRINT ');
  await page.keyboard.press('Enter');
  await page.waitForURL(/kind=PRINT/);
  // Escape closes it; the pointer works too
  await field.fill('so');
  await page.keyboard.press('Escape');
  expect(await offered.count()).toBe(0);
  await desk.go('/targets');
  await page.getByText('Kiosk 1').waitFor();
  await field.fill('tag:');
  await offered.filter({ hasText: 'floor 2' }).click();
  await page.keyboard.press('Enter');
  await page.waitForURL(/tag=floor/);
  await field.fill('colour:red');
  await page.keyboard.press('Enter');
  await page.getByText('There is no filter "colour"').waitFor();
  expect(await desk.faults()).toEqual([]);
});

test('an ending without a reported error is shown as a sentence, not a code', async () => {
  const { token } = await t.token({ kind: 'worker', name: 'plotter' });
  const { body: plot } = await t.post('/api/lanes/plotter/actions', { kind: 'PLOT', maxAttempts: 1 });
  await t.post('/api/lanes/plotter/claim', { worker: 'w', leaseSeconds: 1 }, { token });
  const { id } = plot;
  const reason = async () => {
    await t.pass(60_000);
    return (await t.get(`/api/actions/${id}`)).body.reason;
  };
  await expect.poll(reason, { timeout: PATIENCE_MS }).toBe('TIMEOUT');
  const { page } = desk;
  const said = 'No report came in time, at every attempt.';
  await desk.go('/dead-letters');
  await page.getByText(said).waitFor();
  await desk.go('/actions?state=failed');
  await page.getByRole('table', { name: 'Actions' }).getByText(said).waitFor();
  await desk.go(`/actions/${id}`);
  await page.getByText(said).waitFor();
  await desk.go('/');
  await page.getByText(`1 PLOT: ${said}`).waitFor();
  expect(desk.complaints).toEqual([]);
});

test('the lane of a device is paused on its page; waiting actions show who did it and a button that resumes it', async () => {
  const device = await fakeDevice(t, { name: 'Till 9' });
  await device.checkIn();
  await device.assign('SYNC');
  const { page } = desk;
  const acts = page.locator('#main [data-acts]');
  await desk.go(`/devices/${device.id}`);
  const why = page.getByRole('table', { name: 'Waiting actions' });
  await why.getByText('SYNC').waitFor();
  await acts.getByRole('button', { name: 'Pause lane' }).click();
  await why.getByText(/^Its lane is paused by MUSTER_OPERATOR_TOKEN since/).waitFor();
  await page.getByText('nothing more goes out until it is resumed').waitFor();
  await why.getByRole('button', { name: 'Resume the lane' }).click();
  await acts.getByRole('button', { name: 'Pause lane' }).waitFor();
  // another client resumes it: the open page shows that by itself
  await t.post(`/api/devices/${device.id}/pause`);
  await acts.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await acts.getByRole('button', { name: 'Resume', exact: true }).waitFor();
  await t.post(`/api/devices/${device.id}/resume`);
});

test('an unknown filter key in the address is refused in a sentence until the filter is valid', async () => {
  const { page } = desk;
  await desk.go('/targets?type=devices&colour=red');
  const alert = page.getByRole('alert').filter({ hasText: 'There is no filter "colour".' });
  await alert.waitFor();
  // otherwise all rows would look like matches
  expect(await page.getByRole('table', { name: 'Devices' }).count()).toBe(0);
  await desk.go('/targets?type=devices');
  await alert.waitFor({ state: 'detached' });
  await page.getByRole('table', { name: 'Devices' }).waitFor();
  await page.getByRole('searchbox').or(page.getByRole('combobox')).first().waitFor();
});

test('undo cancels what waits; what was handed out meanwhile continues, with an offer to ask it to stop', async () => {
  const { page } = desk;
  const device = await fakeDevice(t, { name: 'Undone', tags: ['undone'] });
  const assign = async (kind: string) => {
    await page.getByRole('button', { name: 'Assign' }).click();
    await page.getByLabel('Kind').fill(kind);
    await page.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
    await page.getByText(/^Assigned as/).waitFor();
  };
  const undo = () => page.getByRole('button', { name: 'Undo' }).click();
  await desk.go(`/devices/${device.id}`);
  await assign('LOCK');
  await undo();
  await page.getByText('It is cancelled.').waitFor();
  expect(await device.queue()).toEqual([]);

  await assign('WIPE');
  const { action } = await device.checkIn();
  await undo();
  await page.getByText('It was already handed out and continues.').waitFor();
  expect((await t.get(`/api/actions/${action.id}`)).body).toMatchObject({ state: 'claimed' });
  await page.getByRole('button', { name: 'Ask to stop' }).first().click();
  await expect.poll(async () => (await t.get(`/api/actions/${action.id}`)).body.cancelRequested).toBe(true);
  await device.report(action);

  const { body: workflow } = await t.post('/api/workflows', {
    name: 'nightly',
    schedule: { cron: '0 3 * * *' },
    targets: { tags: ['undone'] },
    action: { kind: 'SYNC' },
  });
  await desk.go(`/workflows/${workflow.id}`);
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('nightly runs for 1 device.').waitFor();
  await undo();
  await page.getByText('1 cancelled of 1 device').waitFor();
  await expect.poll(() => device.queue()).toEqual([]);
});

test('at phone width the menu of the orders is beside the switch, not on its own line', async () => {
  const { page } = desk;
  await page.setViewportSize({ width: 390, height: 844 });
  await desk.go('/orders');
  const acts = page.locator('#main [data-acts]');
  const top = async (name: RegExp, role: 'button' | 'switch') => {
    const box = await acts.getByRole(role, { name }).boundingBox();
    return box && box.y + box.height / 2;
  };
  await acts.getByRole('switch').waitFor();
  expect(await top(/^More/, 'button')).toBeCloseTo((await top(/auto/, 'switch')) ?? -1, -1);
  await page.setViewportSize({ width: 1280, height: 800 });
});
