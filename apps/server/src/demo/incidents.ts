import { atOnce } from './at-once.ts';
import type { SimulatedDevice } from './device.ts';
import { awaitedOf, INSTALL, kiosksOf, type Stage, withMind } from './stage.ts';

/** What went wrong before the console was first opened, oldest first. */
interface Incident {
  readonly agoMs: number;
  happen(stage: Stage): Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NO_SPACE = 11;
const EXPIRED = 12;
const WITHOUT_CABLE = 7;
/** The rack of the devices in error, if there are that many racks. */
const RACK = 2;

const rightAway = () => 0;

export const INCIDENTS: readonly Incident[] = [
  { agoMs: 6.2 * HOUR_MS, happen: oneIsAway },
  { agoMs: 6 * HOUR_MS, happen: (stage) => batchOf(stage, 'version 6', 30) },
  { agoMs: 5 * HOUR_MS, happen: noSpaceLeft },
  { agoMs: 4 * HOUR_MS, happen: noCable },
  { agoMs: 3 * HOUR_MS, happen: proxyExpired },
  { agoMs: 2 * HOUR_MS, happen: (stage) => batchOf(stage, 'opening hours', 20) },
  { agoMs: 45 * MINUTE_MS, happen: pausedByAna },
  { agoMs: 30 * MINUTE_MS, happen: itWaits },
  { agoMs: 4 * MINUTE_MS, happen: version7 },
  ...[3, 2, 1].map((minutes) => ({ agoMs: minutes * MINUTE_MS, happen: someInstall })),
];

const assign = (stage: Stage, { id }: SimulatedDevice, body: Parameters<Assign>[0]['body']) =>
  stage.calls.client.checkin.assign({ ...stage.calls.as(stage.people.ana), params: { id }, body });
type Assign = Stage['calls']['client']['checkin']['assign'];

const visitAll = ({ devices }: Stage, some: readonly SimulatedDevice[]) =>
  atOnce(some, (device) => devices.visit(device, rightAway));

async function oneIsAway(stage: Stage): Promise<void> {
  const device = awaitedOf(stage);
  if (!device) return;
  // its last activity
  for (const kind of ['SYNC', 'LOCATE', 'UPDATE', 'SYNC']) await assign(stage, device, { kind });
  await stage.devices.visit(device, rightAway);
  await assign(stage, device, { kind: 'LOCK', payload: { message: 'Call the office', pin: '4711' } });
  await assign(stage, device, { kind: 'SYNC' });
  await assign(stage, device, { kind: 'UPDATE', payload: { version: '7.0.0' } });
}

async function noSpaceLeft(stage: Stage): Promise<void> {
  await atOnce(withMind(stage, 'broken').slice(0, NO_SPACE), async (device) => {
    await assign(stage, device, { kind: 'UPDATE', payload: { version: '7.0.0' }, maxAttempts: 1 });
    await stage.devices.visit(device, rightAway);
  });
}

async function proxyExpired(stage: Stage): Promise<void> {
  stage.devices.spoil('RENEW', 100, 'the certificate of proxy-4 has expired');
  await atOnce(withMind(stage, 'ordinary').slice(0, EXPIRED), async (device) => {
    await assign(stage, device, { kind: 'RENEW', maxAttempts: 1 });
    await stage.devices.visit(device, rightAway);
  });
  stage.devices.spoil('RENEW', 0, '');
}

/** A task with one try: devices that fail are in error. */
async function noCable(stage: Stage): Promise<void> {
  const { calls, fleet, people, runners } = stage;
  const at = Math.min(RACK, runners.length - 1);
  const [rack, runner] = [fleet.racks[at], runners[at]];
  if (!rack || !runner) return;
  const theirs = fleet.devices.filter((device) => device.rack === at);
  const broken = theirs.slice(0, Math.min(WITHOUT_CABLE, Math.floor(theirs.length / 2))).map(({ id }) => id);
  if (broken.length === 0) return;
  runner.breakDevices(broken, 'no cable');
  await calls.client.tasks.create({
    ...calls.as(people.ana),
    body: { name: 'new firmware', kind: 'FLASH', targets: { pcIds: [rack.id] }, maxAttempts: 1 },
  });
  // first all tasks before it in the line are finished
  for (let done = 1; done > 0; ) {
    done = 0;
    for (const one of runners) done += await one.work();
  }
}

async function batchOf(stage: Stage, name: string, count: number): Promise<void> {
  const some = kiosksOf(stage).slice(0, count);
  await createBatch(stage, { name, devices: some });
  await visitAll(stage, some);
  await stage.tick('finish-batches');
}

async function createBatch(
  stage: Stage,
  { name, devices }: { readonly name: string; readonly devices: readonly SimulatedDevice[] },
): Promise<string | null> {
  const { calls, people, tick } = stage;
  if (devices.length === 0) return null;
  const { body } = await calls.client.batches.create({
    ...calls.as(people.ana),
    body: {
      name,
      targets: { deviceIds: devices.map(({ id }) => id) },
      action: { kind: 'CONFIGURE', payload: { of: name, adminPassword: 'hidden-from-the-console' } },
    },
  });
  await tick('supply-batches');
  return body.id;
}

async function pausedByAna(stage: Stage): Promise<void> {
  const { calls, people } = stage;
  const some = kiosksOf(stage).slice(0, 100);
  const id = await createBatch(stage, { name: 'screensaver', devices: some });
  if (id === null) return;
  await visitAll(stage, some.slice(0, Math.ceil(some.length * 0.3)));
  await calls.client.batches.pause({ ...calls.as(people.ana), params: { id } });
}

/** One for each reason that everyday work does not produce. */
async function itWaits(stage: Stage): Promise<void> {
  const { calls, people } = stage;
  const { as, client } = calls;
  const [first, second] = withMind(stage, 'attentive');
  const tomorrow = new Date(Date.now() + 12 * HOUR_MS).toISOString();
  if (first) await assign(stage, first, { kind: 'REBOOT', notBefore: tomorrow });
  if (second)
    await assign(stage, second, { kind: 'UPDATE', notBefore: tomorrow, payload: { version: '7.1' } });
  const lane = 'printer-7';
  for (const copies of [1, 2, 4])
    await client.actions.enqueue({
      ...as(people.program),
      params: { lane },
      body: { kind: 'print', payload: { copies }, tags: ['office'] },
    });
  await client.actions.pauseLane({ ...as(people.ana), params: { lane } });
  for (const device of withMind(stage, 'broken').slice(-3))
    await assign(stage, device, { kind: 'DIAGNOSE', maxAttempts: 1_000 });
}

/** Still running when the console is opened, and aborts by its rule. */
async function version7(stage: Stage): Promise<void> {
  const { calls, people } = stage;
  if (kiosksOf(stage).length === 0) return;
  stage.devices.spoil(INSTALL, 2, 'the new version does not start: exit code 139');
  await calls.client.batches.create({
    ...calls.as(people.ana),
    body: {
      name: 'version 7',
      targets: { tags: ['kiosk'] },
      action: { kind: INSTALL, payload: { version: '7.0.0' }, maxAttempts: 1 },
      ratePerMinute: 120,
      ramp: { basePerMinute: 60, factor: 2, everySuccesses: 50 },
      // in a small fleet too
      abort: { failurePercent: 5, minimumSample: Math.min(100, Math.ceil(kiosksOf(stage).length / 3)) },
    },
  });
  await someInstall(stage);
}

async function someInstall(stage: Stage): Promise<void> {
  await stage.tick('supply-batches');
  const { batches } = (await stage.calls.client.batches.list({ ...stage.calls.as(stage.people.ana) })).body;
  const waiting = batches.find(({ name }) => name === 'version 7');
  if (!waiting) return;
  const { targets } = (
    await stage.calls.client.batches.targets({
      ...stage.calls.as(stage.people.ana),
      params: { id: waiting.id },
      query: { state: 'pending', limit: 100 },
    })
  ).body;
  const theirs = new Set(targets.map(({ deviceId }) => deviceId));
  await visitAll(
    stage,
    kiosksOf(stage).filter(({ id }) => theirs.has(id)),
  );
}
