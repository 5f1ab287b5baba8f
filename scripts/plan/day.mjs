// `npm run plan:day`: plays a day of a fleet at 1:1000 against the real server on a real PostgreSQL server, with the time as a
// parameter, and compares what was counted with what the model says of a fleet of that size. Exits with 1 if counts, bytes or log
// deviate by more than the stated part. Processor time is printed only: it depends on the machine, and on how many calls a
// statement gathers.
//
//   history: the days before, actions only ──► the day: minute by minute ──► both columns
//
// In each simulated minute: the devices whose turn it is check in over HTTP, those that finished an action report it, contacts are
// stored, and the duties whose time has come run. Actions arrive by batches, one an hour, most in the afternoon. A tenth of the
// devices is offline for six hours. What is older than the retention is deleted as the day goes on.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machine } from '../../bench/machine.mjs';
import { bytesOf, DEFAULTS, lookingOf, ofAction, ratesOf, walOf } from './model.mjs';
import { openStage, shuffled } from './stage.mjs';

const MINUTE = 60_000;
const HOUR = 3_600_000;
/** Of a day. Fewer have no history before them, nothing to delete and nobody offline: for tests. */
const WHOLE = 1_440;
/** A table that is no longer empty has two maps of its pages, of 32 kB: nothing in a large fleet, much in a thousandth of it. */
const MAPS = { devices: 5 * 32_768, actions: 8 * 32_768, milestones: 32_768 };
const NOTHING = { walBytes: 0, imageBytes: 0, postgresMicros: 0, nodeMicros: 0 };
const OFFLINE_OF = 10;
const OFFLINE_HOURS = 6;
/** Few at night, most in the afternoon; on average 1. @param {number} hour */
const busyness = (hour) => 1 - 0.8 * Math.cos(((hour - 3) / 12) * Math.PI);

/** By how much the engine may differ from the model. */
const MAY_DEVIATE = { count: 0.03, bytes: 0.25, wal: 0.25 };

/** @typedef {{ name: string, kind: 'count' | 'bytes' | 'wal' | 'cpu', counted: number, expected: number }} Row */

/** @param {string[]} argv @returns {Promise<number>} the exit code */
export async function playDay(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      devices: { type: 'string', default: '1000000' },
      scale: { type: 'string', default: '1000' },
      every: { type: 'string', default: '60' },
      'actions-per-day': { type: 'string', default: '5' },
      'keep-days': { type: 'string', default: '2' },
      minutes: { type: 'string', default: '1440' },
      costs: { type: 'string' },
    },
  });
  const keepDays = Number(values['keep-days']);
  const minutes = Math.min(WHOLE, Number(values.minutes));
  /** @type {import('./model.mjs').Fleet} */
  const fleet = {
    ...DEFAULTS,
    devices: Math.round(Number(values.devices) / Number(values.scale)),
    every: Number(values.every),
    actionsPerDay: Number(values['actions-per-day']),
    online: minutes === WHOLE ? 1 - OFFLINE_HOURS / 24 / OFFLINE_OF : 1,
    keepDays,
    milestoneDays: keepDays,
  };
  const began = performance.now();
  const costsFile = values.costs ?? new URL('costs.json', import.meta.url);
  const costs = JSON.parse(readFileSync(costsFile, 'utf8'));
  const rows = comparison(await playOut(fleet, minutes), fleet, minutes, costs);
  const { cpu, cores } = machine();
  console.log(
    `${fleet.devices} devices (1:${values.scale} of ${Number(values.devices).toLocaleString('en')}), a check-in every ${fleet.every} s, ${fleet.actionsPerDay} actions a day each,
${minutes} simulated minutes in ${Math.round((performance.now() - began) / 1_000)} s on ${cpu}, ${cores} cores\n`,
  );
  let deviates = false;
  console.log('| | engine | model | deviation | |\n|---|---|---|---|---|');
  for (const { name, kind, counted, expected } of rows) {
    const deviation = counted / expected - 1;
    const most = kind === 'cpu' ? null : MAY_DEVIATE[kind];
    const isOff = most !== null && !(Math.abs(deviation) <= most);
    deviates ||= isOff;
    const verdict =
      most === null ? 'not judged' : isOff ? `**more than ${100 * most} %**` : `at most ${100 * most} %`;
    console.log(
      `| ${name} | ${shown(counted, kind)} | ${shown(expected, kind)} | ${(100 * deviation).toFixed(1)} % | ${verdict} |`,
    );
  }
  return deviates ? 1 : 0;
}

/**
 * What the engine did and stored.
 * @param {import('./model.mjs').Fleet} fleet @param {number} minutes
 */
async function playOut(fleet, minutes) {
  const stage = await openStage({
    autovacuum: minutes === WHOLE,
    devices: fleet.devices,
    settings: {
      MUSTER_RETENTION_DAYS: String(fleet.keepDays),
      MUSTER_MILESTONE_DAYS: String(fleet.milestoneDays),
    },
  });
  try {
    if (minutes === WHOLE) await playHistory(stage, fleet);
    await stage.crowd.checkIn({ ids: everyone(fleet), alsoHolders: true }); // all have been here before
    await stage.server.contacts.write();
    await stage.query('vacuum analyze');
    const bytesBefore = groupsOf(await stage.sizes());
    const before = await stage.reading();
    const counts = await playMinutes(stage, fleet, minutes);
    const after = await stage.reading();
    await stage.query('vacuum analyze');
    const [kept] = await stage.query(
      `select (select count(*) from muster.endings)::int as actions, (select count(*) from muster.milestones)::int as milestones,
        ($1::pg_lsn - $2::pg_lsn)::float8 as wal`,
      [after.lsn, before.lsn],
    );
    return {
      ...counts,
      kept,
      walBytes: kept.wal,
      bytes: groupsOf(await stage.sizes()),
      bytesBefore: minutes === WHOLE ? groupsOf(stage.bytesAtFirst) : bytesBefore,
      bytesAtFirst: groupsOf(stage.bytesAtFirst),
      postgresSeconds: (after.postgres - before.postgres) / 1_000,
      nodeSeconds: (after.node - before.node) / 1_000,
    };
  } finally {
    await stage.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof playOut>>} Played */

const OF_DEVICES = ['contacts', 'devices', 'lane_names', 'lanes', 'tokens'];

/** @param {Map<string, { heap: number, indexes: number }>} sizes */
function groupsOf(sizes) {
  const groups = { devices: 0, actions: 0, milestones: 0 };
  for (const [name, { heap, indexes }] of sizes) {
    const group = OF_DEVICES.includes(name) ? 'devices' : name === 'milestones' ? 'milestones' : 'actions';
    groups[group] += heap + indexes;
  }
  return groups;
}

/** @param {import('./model.mjs').Costs} costs */
function ofMinutes({ bytes }) {
  return { ...bytes, finishedAction: bytes.finishedAction + bytes.eventsOfAction, eventsOfAction: 0 };
}

/**
 * @param {Played} played @param {import('./model.mjs').Fleet} fleet @param {number} minutes
 * @param {import('./model.mjs').Costs} all
 * @returns {Row[]}
 */
function comparison(played, fleet, minutes, all) {
  const isWhole = minutes === WHOLE;
  const costs = isWhole ? all : { ...all, prune: NOTHING, pruneMilestones: NOTHING };
  const seconds = minutes * 60;
  const days = isWhole ? fleet.keepDays : minutes / WHOLE;
  const rates = ratesOf(fleet);
  // in a short form nothing is deleted, and the history is that of its minutes
  const model = isWhole
    ? bytesOf(fleet, costs)
    : bytesOf({ ...fleet, keepDays: days, milestoneDays: days }, { ...costs, bytes: ofMinutes(costs) }, 1);
  const kept = fleet.devices * fleet.actionsPerDay * days;
  const { assigned, bytes, bytesAtFirst, bytesBefore } = played;
  const cpu = (/** @type {'postgresMicros' | 'nodeMicros'} */ what) =>
    (rates.checkIns * seconds * costs.checkIn[what] + assigned * ofAction(costs, what)) / 1e6;
  const looking = isWhole ? lookingOf(fleet, costs) : 0;
  /** @type {[string, Row['kind'], number, number][]} */
  const rows = [
    ['check-ins', 'count', played.checkIns, rates.checkIns * seconds],
    ['actions assigned', 'count', assigned, rates.actions * seconds],
    ['actions reported', 'count', played.reported, assigned],
    ['actions kept', 'count', played.kept.actions, kept],
    ['milestones kept', 'count', played.kept.milestones, 3 * kept],
    ['bytes of devices', 'bytes', bytes.devices, bytesAtFirst.devices + MAPS.devices + model.devices],
    ['bytes of actions', 'bytes', bytes.actions, bytesBefore.actions + MAPS.actions + model.actions],
    [
      'bytes of milestones',
      'bytes',
      bytes.milestones,
      bytesAtFirst.milestones + MAPS.milestones + model.milestones,
    ],
    ['bytes of log', 'wal', played.walBytes, walOf(fleet, costs).all * seconds],
    ['seconds of PostgreSQL', 'cpu', played.postgresSeconds, cpu('postgresMicros') + looking],
    ['seconds of Node', 'cpu', played.nodeSeconds, cpu('nodeMicros')],
  ];
  return rows.map(([name, kind, counted, expected]) => ({ name, kind, counted, expected }));
}

/** The days before, as far as they are kept and one more: only what leaves a trace. @param {import('./stage.mjs').Stage} stage @param {import('./model.mjs').Fleet} fleet */
async function playHistory(stage, fleet) {
  for (let hour = 0; hour < 24 * (fleet.keepDays + 1); hour += 1) {
    if (hour % 24 === 0) process.stderr.write(`day ${hour / 24} of the history …\n`);
    const targets = await assignHour(stage, fleet, hour % 24);
    await stage.crowd.checkIn({ ids: targets });
    stage.pass(HOUR / 2);
    for (let left = 1; left > 0; ) left = (await stage.crowd.checkIn({ ids: [], alsoHolders: true })).handed;
    await stage.keepHouse(() => true);
    stage.pass(HOUR / 2);
  }
}

/** @param {import('./stage.mjs').Stage} stage @param {import('./model.mjs').Fleet} fleet @param {number} minutes */
async function playMinutes(stage, fleet, minutes) {
  const all = { checkIns: 0, reported: 0, assigned: 0 };
  const turns = fleet.every / 60;
  const start = stage.time();
  /** @type {Map<string, number>} */
  const nextAt = new Map();
  const perMinute = (fleet.devices * fleet.actionsPerDay) / 1_440;
  const isShort = minutes < WHOLE;
  for (let minute = 0; minute < minutes; minute += 1) {
    const hour = Math.floor(minute / 60) % 24;
    if (minute % 60 === 0) process.stderr.write(`hour ${hour} of the day …\n`);
    if (isShort && minute === 0)
      all.assigned += (await assign(stage, fleet, Math.round(perMinute * minutes))).length;
    else if (!isShort && minute % 60 === 0) all.assigned += (await assignHour(stage, fleet, hour)).length;
    const due = everyone(fleet).filter(
      (n) => n % turns === minute % turns && (isShort || !isOffline(n, hour)),
    );
    const { checkIns, reported } = await stage.crowd.checkIn({ ids: due, alsoHolders: true });
    all.checkIns += checkIns;
    all.reported += reported;
    await stage.server.contacts.write();
    if ((minute * 60) % fleet.checkpointEvery === 0) await stage.query('checkpoint');
    const now = stage.time() - start;
    const ready = stage.server.engine.duties.filter(({ name }) => now >= (nextAt.get(name) ?? 0));
    for (const { name, everyMs } of ready) nextAt.set(name, now + everyMs);
    const names = new Set(ready.map(({ name }) => name));
    await stage.keepHouse((name) => names.has(name));
    stage.pass(MINUTE);
  }
  return all;
}

/** @param {import('./stage.mjs').Stage} stage @param {import('./model.mjs').Fleet} fleet @param {number} hour */
const assignHour = (stage, fleet, hour) =>
  assign(stage, fleet, Math.round((fleet.devices * fleet.actionsPerDay * busyness(hour)) / 24));

/** @param {import('./stage.mjs').Stage} stage @param {import('./model.mjs').Fleet} fleet @param {number} count */
async function assign(stage, fleet, count) {
  const given = [];
  for (let left = count; left > 0; left -= fleet.devices) {
    const ids = shuffled(fleet.devices).slice(0, left);
    await stage.assign(ids);
    given.push(...ids);
  }
  return given;
}

/** @param {import('./model.mjs').Fleet} fleet */
const everyone = ({ devices }) => Array.from({ length: devices }, (_, at) => at + 1);

/** @param {number} n @param {number} hour */
const isOffline = (n, hour) => n % OFFLINE_OF === 0 && (hour + n / OFFLINE_OF) % 24 < OFFLINE_HOURS;

/** @param {number} n @param {Row['kind']} kind */
function shown(n, kind) {
  if (kind === 'count') return Math.round(n).toLocaleString('en');
  return kind === 'cpu' ? `${n.toFixed(0)} s` : `${(n / 1e6).toFixed(1)} MB`;
}
