// `npm run plan:measure`: measures on this machine what a check-in, an action and a parked client cost, with the server over HTTP on a
// PostgreSQL cluster of its own, and prints it as JSON; `--write` stores it as scripts/plan/costs.json, from which plans are made.
//
// Every device checks in once per pass, in random order and with its own token: more tokens than the server keeps, as in a large
// fleet. 64 connections, so statements gather a few dozen calls. A larger crowd gathers more, so it costs less per call.

import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { commit, machine } from '../../bench/machine.mjs';
import { openServer } from '../../bench/server.mjs';
import { startCluster } from '../../testing/postgres-cluster.mjs';
import { root } from '../install.mjs';
import { startCrowd } from './crowd.mjs';
import { measuring } from './measuring.mjs';
import { openStage, shuffled } from './stage.mjs';

const DAY = 86_400_000;
/** Tables with one row per device. All others grow with the actions. */
const OF_DEVICES = ['contacts', 'devices', 'lane_names', 'lanes', 'tokens'];
/** What is touched in random places, so that its pages go into the log whole after each checkpoint. */
const RANDOM = ['contacts', 'devices', 'lanes', 'milestones_pkey', 'actions_of_lane'];

/** @param {string[]} argv */
export async function measure(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      devices: { type: 'string', default: '100000' },
      waiters: { type: 'string', default: '10000' },
      write: { type: 'boolean', default: false },
    },
  });
  const devices = Number(values.devices);
  const costs = {
    measured: {
      at: new Date().toISOString().slice(0, 10),
      commit: commit(root),
      ...machine(),
      devices,
    },
    ...(await ofCalls(devices)),
    parked: { ...(await ofWaiters(Number(values.waiters))) },
  };
  const text = `${JSON.stringify(costs, rounded, 2)}\n`;
  console.log(text);
  if (values.write) writeFileSync(path.join(root, 'scripts/plan/costs.json'), text);
}

/** @param {string} _key @param {unknown} value */
const rounded = (_key, value) => (typeof value === 'number' ? Number(value.toPrecision(3)) : value);

/** @param {number} devices */
async function ofCalls(devices) {
  const stage = await openStage({ devices, fsync: true });
  try {
    const ids = shuffled(devices);
    const { crowd } = stage;
    await stage.query('create extension pg_walinspect');
    const all = () => crowd.checkIn({ ids });
    const settle = async () => {
      await stage.server.contacts.write();
      await stage.query('vacuum analyze');
      await stage.query('checkpoint');
      stage.pass(60_000);
    };
    const once = measuring(stage);
    const supplied = () => stage.assign(ids);

    say('warming up');
    await all();
    await settle();
    const fleetBytes = sum(await stage.sizes(), OF_DEVICES);
    say('check-ins without work');
    const idle = await once(devices, all);

    await settle();
    await supplied();
    await all();
    await all();
    await settle();
    say('actions');
    const sizesBetween = await stage.sizes();
    const assigned = await once(devices, supplied);
    const sizesUnfinished = await stage.sizes();
    const handedOut = await once(devices, all);
    const reported = await once(devices, all);
    await settle();
    const sizesAfter = await stage.sizes();

    // nothing is to be deleted yet, but the duty looks at the assignments of kept actions, so many in each run
    const lookedAt = await once(2 * devices, async () => {
      for (let at = 0; at < 2 * devices; at += 100_000)
        await stage.server.engine.runDuty('prune-assignments');
    });

    say('clients that connect anew');
    const some = ids.slice(0, Math.min(devices, 10_000));
    const fresh = await once(some.length, () => crowd.checkIn({ ids: some, fresh: true }));
    const parking = ids.slice(0, Math.min(devices, 6_000));
    const parked = await once(parking.length, () =>
      crowd.checkIn({ ids: parking, wait: 1, connections: 2_000 }),
    );
    const tls = await overTls(stage, some);

    say('deleting');
    stage.pass(16 * DAY);
    const pruned = await once(2 * devices, () => prune(stage, 'actions'));
    stage.pass(366 * DAY);
    const forgotten = await once(2 * devices, () => prune(stage, 'milestones'));

    const milestones = (/** @type {Sizes} */ of) => of.get('milestones') ?? { heap: 0, indexes: 0, rows: 0 };
    const grown = sum(sizesAfter) - sum(sizesBetween);
    const ofMilestones =
      milestones(sizesAfter).heap +
      milestones(sizesAfter).indexes -
      milestones(sizesBetween).heap -
      milestones(sizesBetween).indexes;
    const ofDevices = sum(sizesAfter, OF_DEVICES) - sum(sizesBetween, OF_DEVICES);
    const ofEvents = sum(sizesAfter, ['events']) - sum(sizesBetween, ['events']);
    const waiting = sum(sizesUnfinished, ['pending']) - sum(sizesBetween, ['pending']);
    return {
      settings: { fsync: 'on', wal_compression: 'on', connections: 64 },
      checkIn: idle.cost,
      handOut: handedOut.cost,
      report: reported.cost,
      assign: assigned.cost,
      prune: pruned.cost,
      pruneMilestones: forgotten.cost,
      lookAtKept: { postgresMicros: lookedAt.cost.postgresMicros },
      freshConnection: fresh.cost,
      freshTls: tls,
      parkedCheckIn: parked.cost,
      bytes: {
        empty: sum(stage.bytesAtFirst),
        device: fleetBytes / devices + ofDevices / devices,
        finishedAction: (grown - ofMilestones - ofDevices - ofEvents) / devices,
        eventsOfAction: ofEvents / devices,
        milestonesOfAction: ofMilestones / devices,
        waitingAction: waiting / devices,
      },
      /** Bytes per device, or per kept action, of what is touched at random. */
      pages: {
        contacts: heapOf(sizesAfter, 'contacts') / devices,
        devices: heapOf(sizesAfter, 'devices') / devices,
        lanes: heapOf(sizesAfter, 'lanes') / devices,
        milestones_pkey: milestones(sizesAfter).indexes / (2 * devices),
        actions_of_lane: (await indexBytes(stage, 'actions_of_lane')) / (2 * devices),
      },
      imageBytes: imagesOf([idle, assigned, handedOut, reported]),
      otherImageBytes: othersOf([assigned, handedOut, reported]) / devices,
      process: { rssBytes: process.memoryUsage().rss },
    };
  } finally {
    await stage.close();
  }
}

/** @typedef {Map<string, { heap: number, indexes: number, rows: number }>} Sizes */

/** @param {Sizes} sizes @param {string[]} [names] all, unless told */
function sum(sizes, names = [...sizes.keys()]) {
  return names.reduce((all, name) => all + (sizes.get(name)?.heap ?? 0) + (sizes.get(name)?.indexes ?? 0), 0);
}

/** @param {Sizes} sizes @param {string} name */
const heapOf = (sizes, name) => sizes.get(name)?.heap ?? 0;

/** @param {import('./stage.mjs').Stage} stage @param {string} name */
async function indexBytes(stage, name) {
  const [row] = await stage.query('select pg_relation_size($1::regclass)::float8 as bytes', [
    `muster.${name}`,
  ]);
  return row.bytes;
}

/** The bytes of one page in the log, compressed. @param {import('./measuring.mjs').Measured[]} all */
function imagesOf(all) {
  return Object.fromEntries(
    RANDOM.map((name) => {
      const found = all.flatMap(({ images }) => images.filter((one) => one.name === name));
      const count = found.reduce((n, { images }) => n + images, 0);
      return [name, found.reduce((bytes, one) => bytes + one.images * one.bytes, 0) / Math.max(1, count)];
    }),
  );
}

/** Those of all other pages: their rows are written one after the other. @param {import('./measuring.mjs').Measured[]} all */
function othersOf(all) {
  return all
    .flatMap(({ images }) => images)
    .filter(({ name }) => !RANDOM.includes(name))
    .reduce((bytes, one) => bytes + one.images * one.bytes, 0);
}

/** @param {import('./stage.mjs').Stage} stage @param {'actions' | 'milestones'} what */
async function prune(stage, what) {
  await stage.keepHouse((name) => name === 'keep-days');
  const gone = what === 'actions' ? ['actions', 'endings', 'assignments', 'targets'] : ['milestones'];
  for (let left = 1; left > 0; ) {
    await stage.keepHouse((name) => /^(prune|finish)/.test(name));
    left = 0;
    for (const table of gone)
      left += (await stage.query(`select count(*)::int as left from muster.${table}`))[0].left;
  }
  await stage.query('vacuum');
}

/** Their own server, because one with TLS speaks nothing else. @param {import('./stage.mjs').Stage} stage @param {number[]} ids */
async function overTls(stage, ids) {
  const { testCertificate } = await import('@muster/mdm/simulation');
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-plan-'));
  const own = await testCertificate({ commonName: 'localhost', dnsNames: ['localhost'] });
  const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
  writeFileSync(cert, own.pem);
  writeFileSync(key, own.keyPem, { mode: 0o600 });
  const server = await openServer(stage.url, { MUSTER_TLS_CERT: cert, MUSTER_TLS_KEY: key });
  const crowd = startCrowd(server.port);
  try {
    const act = () => crowd.checkIn({ ids, fresh: true, tls: true });
    await act();
    const { cost } = await measuring(stage)(ids.length, act);
    return cost;
  } finally {
    crowd.end();
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

/** What a parked client takes of the memory of its server. The benchmark has a row for it, in a process of its own. @param {number} waiters */
async function ofWaiters(waiters) {
  say('parked clients');
  const cluster = await startCluster();
  const child = fork(fileURLToPath(new URL('../../bench/row-process.mjs', import.meta.url)), {
    execArgv: ['--max-semi-space-size=64', '--expose-gc'],
  });
  try {
    const { result, error } = await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', () => reject(new Error('The process of the parked clients ended.')));
      child.send({
        row: 'waiters-http',
        url: cluster.url,
        redisPort: 0,
        sizes: { waiters, watchSeconds: 5 },
      });
    });
    if (error) throw new Error(error);
    return {
      rssBytes: result.value,
      heapBytes: result.heap,
      queriesPerSecond: result.queriesPerSecond,
      waiters,
    };
  } finally {
    child.removeAllListeners('exit');
    child.disconnect();
    await cluster.stop();
  }
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`${text} …\n`);
}
