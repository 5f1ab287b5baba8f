import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../../scripts/console.mjs';
import { startBrowser } from '../../../testing/browser.mjs';
import { inTab, PATIENCE_MS, type Sitting, sitDown } from '../testing/console-stage.ts';
import { type Destination, startDestination } from '../testing/destination.ts';
import { type FakeDevice, fakeDevice } from '../testing/fake-device.ts';
import { fakePc, type Held, newTask } from '../testing/fake-pc.ts';
import { type MdmStage, mdmStage } from '../testing/mdm-stage.ts';
import { serve, temporaryFolder } from '../testing/muster-process.ts';
import { processDatabase } from '../testing/process-database.ts';
import type { TestServer } from '../testing/test-server.ts';

/**
 * The pages in a real browser against the real server: one browser and one server for all, because each costs seconds. The tests
 * look for what a person sees, and promise nothing about how soon it appears.
 */
let s: MdmStage;
let t: TestServer;
let them: Destination;
let browser: Browser;
let desk: Sitting;
let devices: readonly FakeDevice[];
/** Longer than any test: the test itself completes orders, when both tabs have shown them. */
const ORDER_SECONDS = 3_600;

beforeAll(async () => {
  buildConsole();
  them = await startDestination();
  s = await mdmStage({
    // an endpoint that is gone raises an alert
    faults: true,
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    settings: {
      ...{ MUSTER_ORDER_SECONDS: String(ORDER_SECONDS), MUSTER_OUTGOING_ALLOW: '127.0.0.1' },
      MUSTER_MDM_HOLD_SECONDS: '0',
    },
  });
  t = s.t;
  browser = await startBrowser();
  devices = await Promise.all(
    [1, 2, 3, 4].map((n) => fakeDevice(t, { name: `Tablet ${n}`, tags: ['kiosk'] })),
  );
  desk = await sitDown(browser, t.server.url, t.operator);
});
afterAll(async () => {
  await browser?.close();
  await s?.close();
  await them?.close();
});

const at = (n: number) => devices[n - 1] as FakeDevice;
/** Hands out the next action of a device and reports it. */
async function perform(device: FakeDevice, status: 'done' | 'failed', more = {}) {
  const { action } = await device.checkIn();
  await device.report(action, status, more);
  return action.id as string;
}

test('a wrong token is refused in a sentence, and the sign-in page stays', async () => {
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

test('an assigned action is shown waiting, delivered and done, without a reload', async () => {
  const { page } = desk;
  await desk.go(`/devices/${at(1).id}`);
  await page.getByRole('button', { name: 'Assign' }).click();
  await page.getByLabel('Kind').fill('LOCK');
  await page.getByLabel('Payload').fill('{"pin": "1234", "minutes": 5}');
  await page.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
  const waiting = page.getByRole('table', { name: 'Waiting actions' });
  await waiting.getByText('The device has never checked in').waitFor();

  const { action } = await at(1).checkIn();
  await waiting.getByText('With the device').waitFor();
  // the same word as on every page; the door calls it sent
  await waiting.getByText('running', { exact: true }).waitFor();
  await at(1).report(action, 'done');
  await page.getByRole('table', { name: 'Finished actions' }).getByText('succeeded').waitFor();
  await page.getByText('Nothing waits for it.').waitFor();
});

test('the page of an action says why it waits, and has the one button that helps', async () => {
  const { page } = desk;
  const first = await at(2).assign('SYNC');
  const behind = await at(2).assign('UPDATE');
  await desk.go(`/actions/${behind}`);
  const why = page.getByRole('region', { name: 'Why it waits' });
  await why.getByText(`Behind action ${first}`).waitFor();
  // the cause is that of the first one in line
  await why.getByText('The device has never checked in').waitFor();
  // the page has a button for it, and letters press only buttons of selected rows
  await page.getByRole('button', { name: 'Cancel' }).first().waitFor();
  expect(await desk.changesBy('c')).toEqual([]);
  await why.getByRole('button', { name: 'To front' }).click();
  await why.getByText('Nothing to do').waitFor();

  // times and pauses have their own sentences
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const { body: later } = await t.post(`/api/devices/${at(2).id}/actions`, {
    kind: 'LATER',
    notBefore: tomorrow,
  });
  await desk.go(`/actions/${later.id}`);
  await why.getByText(/Not before/).waitFor();
  // an open page shows it, with who did it
  await t.post('/api/pause', {});
  await why.getByText('Everything is paused by MUSTER_OPERATOR_TOKEN').waitFor();
  await why.getByRole('button', { name: 'Resume everything' }).click();
  await why.getByText(/Not before/).waitFor();
  await why.getByRole('button', { name: 'Make due now' }).click();
  await why.getByText('Behind action').waitFor();
});

test('dead letters are grouped by cause and redriven by it', async () => {
  const { page } = desk;
  for (const n of [3, 4]) {
    await at(n).assign('INSTALL', { maxAttempts: 1 });
    await perform(at(n), 'failed', { error: `no space left on disk ${n}` });
  }
  await desk.go('/dead-letters');
  await page.getByText('2 dead letters of 1 cause').waitFor();
  expect(await desk.changesBy('e', 'c', 'p')).toEqual([]);
  expect(await desk.changesBy('j', 'e')).toEqual(['POST /api/actions/redrive']);
  await page.getByText('No dead letters.').waitFor();
  expect((await at(3).queue()).map((one) => one.kind)).toEqual(['INSTALL']);
});

test('many are cancelled by a filter, and later ones are not touched', async () => {
  const { page } = desk;
  // the server's own actions are listed when requested
  const { db } = t.engine;
  const laneId = await t.engine.ensureLane(db, 1, 'bus', 'of a test');
  const own = await t.engine.enqueue(db, { tenantId: 1, laneId, channel: 'bus', kind: 'OWN' });
  await desk.go('/actions');
  const rows = page.getByRole('table', { name: 'Actions' });
  await rows.getByText('INSTALL').first().waitFor();
  expect(await rows.getByText('OWN').count()).toBe(0);
  await page.getByLabel("Also the server's own").click();
  await rows.getByText('OWN').waitFor();
  await page.waitForURL(/internal=true/);
  await t.post(`/api/actions/${own.id}/cancel`);
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

  // the same for dead letters
  await perform(at(3), 'done');
  const dead = [];
  for (const n of [3, 4]) {
    await at(n).assign('FLASH', { maxAttempts: 1 });
    dead.push(await perform(at(n), 'failed', { error: 'no power' }));
  }
  await page.getByLabel('Filter', { exact: true }).fill('kind:FLASH state:failed');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('checkbox').nth(1).waitFor();
  await page.getByRole('checkbox').first().click();
  await page.getByRole('button', { name: 'All that match' }).click();
  await page.getByRole('button', { name: 'Redrive 2' }).click();
  await page.getByText('2 dead letters queued again.').waitFor();
  for (const n of [3, 4]) {
    const id = await perform(at(n), 'done');
    expect(dead).toContain(id);
  }
});

test('a retry, a paused tag, a full PC and a device in error say so, each with the button that helps', async () => {
  const { page } = desk;
  const why = page.getByRole('region', { name: 'Why it waits' });
  const { token: worker } = await t.token({ kind: 'worker', name: 'printer' });
  const { body: print } = await t.post('/api/lanes/printer/actions', { kind: 'PRINT', tags: ['paper'] });
  const { body: taken } = await t.post('/api/lanes/printer/claim', { worker: 'w' }, { token: worker });
  const { attempt } = taken.actions[0];
  const said = { attempt, status: 'failed', error: 'no paper', retryAfterSeconds: 3_600 };
  await t.post(`/api/actions/${print.id}/report`, said, { token: worker });
  await desk.go(`/actions/${print.id}`);
  await why.getByText(/Retry 1 of 2 at \d\d:\d\d:\d\d \(in /).waitFor();
  await why.getByRole('button', { name: 'Make due now' }).waitFor();
  await t.post('/api/pause', { tag: 'paper' });
  await why.getByText('Tag paper is paused by').waitFor();
  await why.getByRole('button', { name: 'Resume paper' }).click();
  await why.getByText(/Retry 1 of 2/).waitFor();

  const { body: host } = await t.post('/api/hosts', { name: 'db-1', slots: 1 });
  const agent = t.secret(host.agentToken);
  const queued: string[] = [];
  for (const unitName of ['one.service', 'two.service']) {
    const { body: service } = await t.post(`/api/hosts/${host.id}/services`, { unitName });
    const asked = { serviceId: service.id, kind: 'restart' };
    queued.push((await t.post(`/api/hosts/${host.id}/actions`, asked)).body.id);
  }
  await t.get('/api/control/queue?max=10', { token: agent });
  await desk.go(`/actions/${queued[1]}`);
  await why.getByText('No free slot: 1 of 1 are busy').waitFor();
  await why.getByText('Nothing to do: it goes out when a slot is free.').waitFor();

  const pc = await fakePc(t, 1, { slots: 1 });
  await newTask(t, { deviceIds: pc.devices.map(({ id }) => id) }, { maxAttempts: 1 });
  const [held] = (await pc.claim()) as [Held];
  await desk.go('/tasks');
  await page
    .getByRole('list', { name: /^Slots of/ })
    .getByRole('link', { name: /^device \d+$/ })
    .waitFor();
  await page.getByRole('button', { name: 'More of pc' }).click();
  await page.getByRole('menuitem', { name: 'Change slots' }).click();
  await page.getByLabel('Slots', { exact: true }).fill('3');
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByText('1 of 3 slots').waitFor();
  await pc.fail(held, { error: 'no cable' });
  await page.getByText('1 in error:').waitFor();
  await desk.go(`/devices/${held.deviceId}`);
  await page.getByText('In error: no cable').waitFor();
  await page.getByRole('button', { name: 'Clear error' }).click();
  await page.getByText('In error: no cable').waitFor({ state: 'detached' });

  // redriven, it fails again and can be redriven again
  await t.post(`/api/actions/${held.id}/redrive`, {});
  const [again] = (await pc.claim()) as [Held];
  await pc.fail(again, { error: 'no cable' });
  await page.getByText('In error: no cable').waitFor();
  await desk.go(`/actions/${held.id}`);
  await page.getByRole('button', { name: 'Redrive' }).click();
  const dialog = page.getByRole('dialog', { name: '1 device is in error' });
  const { name } = await (pc.devices[0] as FakeDevice).show();
  await dialog.getByRole('link', { name }).waitFor();
  await dialog.getByRole('button', { name: 'Clear and redrive 1' }).click();
  await page.getByText('1 dead letter queued again.').waitFor();
  expect(await pc.devices[0]?.show()).toMatchObject({ state: 'ok', queueDepth: 1 });
  await t.post(`/api/actions/${held.id}/cancel`);
});

test('keys and the palette reach every page, and the tab shows the number of problems', async () => {
  const { page } = desk;
  await desk.go('/');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await at(4).assign('BROKEN', { maxAttempts: 1 });
  const dead = await perform(at(4), 'failed', { error: 'no' });
  await expect.poll(() => page.title()).toMatch(/^\(\d+\) Overview · Muster$/);

  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Page, id, name or command' });
  await field.fill(dead);
  await page.getByRole('option', { name: 'BROKEN' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'BROKEN' }).waitFor();
  await page.keyboard.press('Control+k');
  await field.fill('tablet 1');
  await page.getByRole('option', { name: 'Tablet 1' }).click();
  await page.getByRole('heading', { level: 1, name: 'Tablet 1' }).waitFor();
  // the acts of this page too
  await page.keyboard.press('Control+k');
  await field.fill('assi');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('Kind').waitFor();
  await page.keyboard.press('Escape');

  await page.keyboard.press('?');
  await page.getByText('To the next or previous row').waitFor();
  await page.keyboard.press('Escape');
  for (const [keys, name] of [
    ['gs', 'Settings'],
    ['ga', 'Actions'],
  ] as const) {
    await page.keyboard.type(keys);
    await page.getByRole('heading', { level: 1, name }).waitFor();
  }
  // a word without a key is searched in the payloads of one day
  await page.keyboard.press('/');
  await page.keyboard.type('nowhere-to-be-found');
  await page.keyboard.press('Enter');
  await page.getByText(/Searched the newest .* of the last 24 hours/).waitFor();
  await page.goBack();
  await page.getByText(/of the last 24 hours/).waitFor({ state: 'hidden' });
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('/');
  await page.keyboard.type('state:failed kind:BROKEN');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Actions' }).getByText('no', { exact: true }).waitFor();
  // go to the row, open it, come back, select it, redrive it
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'BROKEN' }).waitFor();
  await page.goBack();
  await page.getByRole('table', { name: 'Actions' }).getByText('no', { exact: true }).waitFor();
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.type('jxe');
  await page.getByText('1 dead letter queued again.').waitFor();
  await t.post(`/api/actions/${dead}/cancel`);
});

test('an operator resumes her paused batch from a waiting action, and is told why her sign-in ended', async () => {
  const { id: tokenId, token } = await t.token({ kind: 'operator', role: 'operator', name: 'olga' });
  const device = await fakeDevice(t, { name: 'Tablet of a batch' });
  const made = await t.post('/api/batches', {
    targets: { deviceIds: [device.id] },
    action: { kind: 'WIPE' },
  });
  const { id } = made.body;
  await expect.poll(async () => (await t.get(`/api/batches/${id}`)).body.counts.pending).toBe(1);
  await t.send('POST', `/api/batches/${id}/pause`, undefined, { token });
  const [waiting] = (await t.get(`/api/actions?tag=batch:${id}`)).body.actions;
  const seat = await sitDown(browser, t.server.url, token, `/actions/${waiting.id}`);
  await seat.page.getByText(`Batch ${id} is paused by olga`).waitFor();
  await seat.page.getByRole('button', { name: 'Resume the batch' }).click();
  await seat.page.getByText(`Batch ${id} resumed.`).waitFor();
  expect((await t.get(`/api/batches/${id}`)).body.status).not.toBe('paused');
  await t.del(`/api/tokens/${tokenId}`);
  await seat.page.getByRole('alert').getByText('Your sign-in has ended').waitFor();
  await seat.page.context().close();
});

test('a viewer is shown no acts, and the server refuses every change to the same browser', async () => {
  const { token } = await t.token({ kind: 'operator', role: 'viewer', name: 'vera' });
  const seat = await sitDown(browser, t.server.url, token, `/devices/${at(1).id}`);
  const acts = seat.page.locator('#main').getByRole('button');
  for (const [path, heading] of Object.entries(await pagesWithActs())) {
    await seat.go(path);
    await seat.page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => seat.page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
    const names = await acts.allInnerTexts();
    expect([path, names.filter((name) => !/^(Filter|Load 100 more|)$/.test(name))]).toEqual([path, []]);
    expect([path, await seat.page.getByRole('link', { name: 'Audit log' }).count()]).toEqual([path, 0]);
  }
  // every change in the OpenAPI document, sent from the page; signing in and out and counting are no changes, and host agents
  // identify themselves in the body
  const accepted = await seat.page.evaluate<string[]>(`(async () => {
    const { paths } = await (await fetch('/openapi.json')).json();
    const done = [];
    for (const [path, methods] of Object.entries(paths))
      for (const method of Object.keys(methods).filter((one) => /post|put|patch|delete/.test(one))) {
        if (!path.startsWith('/api/') || /session$|count$|^.api.control/.test(path)) continue;
        const { status } = await fetch(path.replaceAll(/\\{\\w+\\}/g, '1'), {
          method: method.toUpperCase(),
          headers: { 'content-type': 'application/json' },
          body: '{}',
        });
        if (status !== 401 && status !== 403) done.push(method + ' ' + path + ' ' + status);
      }
    return done;
  })()`);
  expect(accepted).toEqual([]);
  await seat.page.context().close();
});

/** Pages on which someone with more rights finds something to press. */
async function pagesWithActs(): Promise<Record<string, string>> {
  const { body: action } = await t.post(`/api/devices/${at(1).id}/actions`, { kind: 'LOOKED_AT' });
  return {
    [`/devices/${at(1).id}`]: 'Tablet 1',
    [`/actions/${action.id}`]: 'LOOKED_AT',
    '/actions': 'Actions',
    '/dead-letters': 'Dead letters',
    '/batches': 'Batches',
    '/tasks': 'Tasks & PCs',
    '/workflows': 'Workflows',
    '/webhooks': 'Webhooks',
    '/orders': 'Orders',
  };
}

test('a webhook is created, sends events, is paused with a reason, and replays', async () => {
  const { page } = desk;
  await desk.go('/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByLabel('Name').fill('billing');
  await page.getByLabel('Address').fill(`http://them.example:${them.port}/hook`);
  await page.getByLabel('action.failed').uncheck();
  await page.getByLabel('action.created').check();
  await page.getByLabel('Kinds').fill('BILLED');
  await page.getByRole('button', { name: 'Create' }).click();
  t.secret(await page.getByLabel('Signing secret').inputValue());
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('heading', { level: 1, name: 'billing' }).waitFor();

  await at(1).assign('SYNC');
  await at(1).assign('BILLED');
  const log = page.getByRole('table', { name: 'Deliveries' });
  await log.getByText('taken').waitFor();
  expect(them.of('/hook')).toHaveLength(1);
  await log.getByRole('link', { name: 'action.created' }).click();
  await page.getByRole('region', { name: 'Request' }).getByText('"BILLED"').waitFor();
  await page.getByRole('region', { name: 'Answers' }).getByText('thanks').waitFor();
  await log.getByRole('button', { name: 'Replay' }).click();
  await expect.poll(() => them.of('/hook').length).toBe(2);
  const [first, again] = them.of('/hook').map(({ headers }) => headers['webhook-id']);
  expect(again).toBe(first);

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByLabel('Reason').fill('They are moving.');
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByText('They are moving.').waitFor();
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByText('active', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Replay a time range' }).click();
  await page.getByLabel('Only those that were never accepted').uncheck();
  await page.getByLabel('Before').fill('2099-01-01T00:00:00');
  await page.getByRole('button', { name: 'Replay', exact: true }).last().click();
  await page.getByText(/deliver(y|ies) queued again/).waitFor();
  await expect.poll(() => them.of('/hook').length).toBeGreaterThan(2);

  // a dead endpoint is visible at once, with the reason
  them.on('/hook', (response) => response.writeHead(410).end());
  await at(1).assign('BILLED');
  await page.getByText('paused', { exact: true }).waitFor();
});

test('a command is sent to a phone by hand and its answer is shown; only an admin may erase', async () => {
  const { phone, id } = await s.enrolled({ serial: 'F17' });
  await phone.connect();
  await desk.go('/phones');
  await desk.page.getByRole('table', { name: 'Push certificates' }).getByText('sent').waitFor();
  const row = desk.page.getByRole('table', { name: 'Phones' }).getByRole('row').filter({ hasText: 'F17' });
  await row.getByText('reachable').waitFor();
  await row.getByRole('link').click();
  await desk.page.getByRole('button', { name: 'Raw command' }).click();
  await desk.page.getByRole('button', { name: 'Send' }).click();
  const answers = desk.page.getByRole('table', { name: 'Commands' });
  await answers.getByText('DeviceInformation').waitFor();
  await phone.connect();
  await answers.getByText('"SerialNumber":"F17"').waitFor();
  s.apns.forget();
  await desk.page.getByRole('button', { name: 'Push now' }).click();
  await desk.page.getByText('Pushed.').waitFor();
  expect(s.apns.pushes).toHaveLength(1);

  const { token } = await t.token({ kind: 'operator', role: 'operator', name: 'olga' });
  const seat = await sitDown(browser, t.server.url, token, `/phones/${id}`);
  await seat.page.getByRole('button', { name: 'Raw command' }).click();
  await seat.page.getByLabel('RequestType').fill('EraseDevice');
  await seat.page.getByText('Erasing a phone requires the role admin.').waitFor();
  expect(await seat.page.getByRole('button', { name: 'Erase' }).isDisabled()).toBe(true);
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
    // a bot that is a program is left alone, even if it comes first
    t.secret((await t.post('/api/bots', {})).body.botToken);
    const first = await open();
    // looking at the board changes nothing
    const auto = first.getByRole('switch', { name: 'auto' });
    if (how.startsWith('with')) {
      await first.getByText('1 bot, 1 idle').waitFor();
      expect(await auto.isChecked()).toBe(false);
      expect(await first.getByText('this tab leads').count()).toBe(0);
      // switched on once, for every tab of the browser
      await auto.click();
    }
    await first.getByText('this tab leads').waitFor();
    const second = await open();
    await second.getByText('another tab leads').waitFor();

    await first.getByRole('button', { name: '+ Bot' }).click();
    await second.getByRole('button', { name: '+ VIP' }).click();
    const tabs = [first, second];
    for (const tab of tabs)
      await tab.getByRole('list', { name: 'PROCESSING' }).getByRole('progressbar').waitFor();
    const [order] = (await t.get('/api/orders')).body.orders;
    const made = (await t.get(`/api/bots/${order.botId}`)).body;
    await t.send('PATCH', `/api/orders/${order.id}`, { status: 'COMPLETE' });
    for (const tab of tabs) await tab.getByRole('list', { name: 'COMPLETE' }).getByText('VIP').waitFor();
    for (const tab of tabs)
      await tab
        .getByRole('list', { name: 'COMPLETE' })
        .getByText(`bot ${made.number}`, { exact: true })
        .waitFor();

    await first.close();
    await second.getByText('this tab leads').waitFor();
    await second.getByRole('button', { name: '+ Order' }).click();
    await second.getByRole('list', { name: 'PROCESSING' }).getByRole('progressbar').waitFor();
    await second.close();
    await t.post('/api/orders/clear', {});
    for (const bot of (await t.get('/api/bots')).body.bots) await t.del(`/api/bots/${bot.id}`);
  },
);

test('one long name pushes nothing off the screen', async () => {
  const long = await fakeDevice(t, { name: 'n'.repeat(200) });
  const id = await long.assign('K'.repeat(60));
  await long.assign('BEHIND_IT');
  const seat = inTab(await desk.page.context().newPage());
  await seat.page.goto(t.server.url);
  for (const width of [1280, 390]) {
    await seat.page.setViewportSize({ width, height: 800 });
    for (const path of ['/actions', `/actions/${id}`, `/devices/${long.id}`, '/targets']) {
      await seat.go(path);
      await seat.page.getByText('n'.repeat(200)).first().waitFor();
      const over = await seat.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect(over, `${path} at ${width}`).toBeLessThanOrEqual(0);
    }
  }
  await seat.go('/actions');
  const reason = seat.page.getByText('Behind action').first();
  expect((await reason.boundingBox())?.x).toBeLessThan(390);
  await seat.page.close();
  await t.post('/api/actions/cancel', { ids: [id] });
  await t.del(`/api/devices/${long.id}`);
});

test('a server that is killed while an order is processed comes back, and the order completes once', async () => {
  const folder = temporaryFolder();
  const database = await processDatabase(folder.path);
  const token = t.secret('operator-of-the-board-0123456789-0123456789');
  const environment = {
    ...database.environment,
    ...{ MUSTER_OPERATOR_TOKEN: token, MUSTER_ORDER_SECONDS: String(ORDER_SECONDS) },
  };
  let server = await serve(environment);
  const { port } = new URL(server.url);
  const board = await sitDown(browser, server.url, token, '/orders');
  await board.page.getByRole('switch', { name: 'auto' }).click();
  await board.page.getByRole('button', { name: '+ Bot' }).click();
  await board.page.getByRole('button', { name: '+ Order' }).click();
  const processing = board.page.getByRole('list', { name: 'PROCESSING' });
  await processing.getByRole('progressbar').waitFor();

  await server.stop('SIGKILL');
  await board.page.getByText('kept by this browser').waitFor();
  // a page that is not loaded yet opens when the server is back; until then the board stays
  const failed = board.page.waitForEvent('requestfailed', (request) => request.url().includes('/assets/'));
  await board.page.getByRole('link', { name: 'Workflows' }).click();
  await failed;
  expect(await board.page.getByRole('heading', { level: 1 }).textContent()).toBe('Orders');
  server = await serve({ ...environment, PORT: port });
  await board.page.getByRole('heading', { level: 1, name: 'Workflows' }).waitFor();
  await board.page.getByRole('link', { name: 'Orders' }).click();
  await board.page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
  await board.page.getByText('kept by this browser').waitFor({ state: 'detached' });
  await processing.getByRole('progressbar').waitFor();
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  const ask = async (path: string, init: RequestInit = {}): Promise<any> =>
    (
      await fetch(server.url + path, {
        ...init,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
    ).json();
  const { orders } = await ask('/api/orders');
  await ask(`/api/orders/${orders[0].id}`, { method: 'PATCH', body: '{"status": "COMPLETE"}' });
  await board.page.getByRole('list', { name: 'COMPLETE' }).getByRole('listitem').waitFor();
  const { actions } = await ask('/api/actions?kind=order');
  expect(actions).toMatchObject([{ state: 'succeeded', attempt: 1 }]);
  await board.page.context().close();
  await server.stop();
  await database.drop();
  folder.remove();
});

test('every page passes the accessibility check in both themes, at desktop and phone width', async () => {
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
  const [phone] = (await t.get('/api/phones')).body.phones;
  const [task] = (await t.get('/api/tasks')).body.tasks;
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
    [`/tasks/${task.id}`]: task.name,
    '/workflows': 'Workflows',
    [`/workflows/${workflow.body.id}`]: 'nightly',
    '/orders': 'Orders',
    '/phones': 'Phones',
    [`/phones/${phone.id}`]: phone.name,
    '/webhooks': 'Webhooks',
    '/webhooks/1': 'billing',
    '/settings': 'Settings',
    '/audit': 'Audit log',
  };
  const seat = inTab(await desk.page.context().newPage());
  await seat.page.goto(t.server.url);
  await seat.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await seat.page.keyboard.press('Tab');
  await seat.page.getByRole('link', { name: 'To the page' }).and(seat.page.locator(':focus')).waitFor();
  const check = async (theme: 'light' | 'dark', width: number, of: 'all' | 'colours') => {
    await seat.inTheme(theme);
    expect(await seat.faults(of), `${seat.page.url()} in ${theme} at ${width}`).toEqual([]);
  };
  for (const width of [1280, 390]) {
    await seat.page.setViewportSize({ width, height: 800 });
    for (const [path, heading] of Object.entries(pages)) {
      await seat.go(path);
      await seat.page.getByRole('heading', { level: 1, name: heading }).waitFor();
      // content that is still loading has no text
      await expect.poll(() => seat.page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
      await check('dark', width, 'all');
      // the same elements in other colours: once is enough, it costs seconds
      if (width === 1280) await check('light', width, 'colours');
    }
  }
  // devices are called by their names
  await seat.go(`/batches/${batch.body.id}`);
  const ofBatch = seat.page.getByRole('table', { name: 'Devices of the batch' });
  await ofBatch.getByRole('link', { name: 'Tablet 1' }).waitFor();
  expect(seat.complaints).toEqual([]);
  await seat.page.close();
});
