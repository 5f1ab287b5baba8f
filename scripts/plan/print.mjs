// `npm run plan -- --devices 1000000 --every 60 …`: prints what a fleet needs. And the same as the tables of docs/scaling.md, which
// `npm run generate` writes.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DEFAULTS, ofAction, planOf } from './model.mjs';

/** @typedef {import('./model.mjs').Fleet} Fleet */

const OPTIONS = /** @type {Record<string, [keyof Fleet, string]>} */ ({
  devices: ['devices', 'how many'],
  every: ['every', 'seconds between two check-ins of a device'],
  'actions-per-day': ['actionsPerDay', 'for each device'],
  peak: ['peak', 'actions at the busiest time, over the average'],
  waiting: ['waiting', 'the share of devices that wait in a long poll, 0 to 1'],
  online: ['online', 'the share of its time that a device is online, 0 to 1'],
  connections: ['connections', 'kept, fresh (for each check-in) or tls (fresh, decrypted by Muster)'],
  'keep-days': ['keepDays', 'MUSTER_RETENTION_DAYS'],
  'milestone-days': ['milestoneDays', 'MUSTER_MILESTONE_DAYS'],
  'checkpoint-every': ['checkpointEvery', 'seconds: checkpoint_timeout of PostgreSQL'],
  busy: ['busy', 'how busy a core may be on average, 0 to 1'],
  'server-cores': ['serverCores', 'of the largest database server'],
  'server-wal': ['serverWalMb', 'MB of log per second that it can take'],
  'server-connections': ['serverConnections', 'that it can serve'],
  'server-memory-gb': ['serverMemoryGb', 'of it'],
  'server-disk-gb': ['serverDiskGb', 'of it'],
  'price-core': ['priceCore', 'per month; an example, like the next two'],
  'price-memory-gb': ['priceMemoryGb', ''],
  'price-gb': ['priceDiskGb', 'of disk'],
});

export function readCosts() {
  return /** @type {import('./model.mjs').Costs} */ (
    JSON.parse(readFileSync(new URL('costs.json', import.meta.url), 'utf8'))
  );
}

/** @param {string[]} argv */
export function printPlan(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      help: { type: 'boolean', default: false },
      ...Object.fromEntries(
        Object.keys(OPTIONS).map((name) => [name, { type: /** @type {const} */ ('string') }]),
      ),
    },
  });
  if (values.help) {
    for (const [name, [key, meaning]] of Object.entries(OPTIONS))
      console.log(`--${name.padEnd(20)} ${String(DEFAULTS[key]).padStart(8)}  ${meaning}`);
    return;
  }
  const fleet = /** @type {Fleet} */ ({ ...DEFAULTS });
  for (const [name, value] of Object.entries(values)) {
    const option = OPTIONS[name];
    if (!option || typeof value !== 'string') continue;
    Object.assign(fleet, { [option[0]]: option[0] === 'connections' ? wayOf(value) : numberOf(name, value) });
  }
  const costs = readCosts();
  console.log(planTable([[`${short(fleet.devices)} devices`, fleet]], costs));
  console.log(`\n${limitTable([[`${short(fleet.devices)} devices`, fleet]], costs)}`);
}

/** @param {string} name @param {string} text */
function numberOf(name, text) {
  const number = Number(text);
  if (text === '' || !Number.isFinite(number) || number < 0)
    throw new Error(`--${name} must be a number, not "${text}".`);
  return number;
}

/** @param {string} text */
function wayOf(text) {
  if (!['kept', 'fresh', 'tls'].includes(text)) throw new Error('--connections must be kept, fresh or tls.');
  return text;
}

const SIZES = [100_000, 1_000_000, 10_000_000];

/** @type {readonly [string, Fleet][]} */
export const FLEETS = [60, 3_600].flatMap((every) =>
  SIZES.map(
    (devices) =>
      /** @type {[string, Fleet]} */ ([
        `${short(devices)}, ${every === 60 ? 'a minute' : 'an hour'}`,
        { ...DEFAULTS, devices, every },
      ]),
  ),
);
/** @type {readonly [string, Fleet][]} */
const LEANER = [
  ['10 M, a minute, milestones for 30 days', { ...DEFAULTS, devices: 10_000_000, milestoneDays: 30 }],
];
/** All of them parked. @type {readonly [string, Fleet][]} */
const WAITING = SIZES.map((devices) => [short(devices), { ...DEFAULTS, devices, waiting: 1 }]);

/** The tables of docs/scaling.md, by their marks. @param {import('./model.mjs').Costs} costs */
export function tables(costs) {
  return {
    costs: costsTable(costs),
    fleets: planTable(FLEETS, costs),
    waiting: planTable(WAITING, costs),
    limits: limitTable(
      [
        ...FLEETS,
        ...LEANER,
        ...WAITING.map(([name, fleet]) => /** @type {[string, Fleet]} */ ([`${name}, all waiting`, fleet])),
      ],
      costs,
    ),
    fresh: freshTable(costs),
  };
}

/** @param {readonly (readonly [string, Fleet])[]} fleets @param {import('./model.mjs').Costs} costs */
function planTable(fleets, costs) {
  const plans = fleets.map(([, fleet]) => ({ fleet, plan: planOf(fleet, costs) }));
  /** @typedef {(typeof plans)[number]} One */
  /** @type {[string, (one: One) => string][]} */
  const lines = [
    ['requests per second', ({ plan }) => short(plan.rates.checkIns + plan.rates.asksAgain)],
    ['actions per second, on average', ({ plan }) => short(plan.rates.actions)],
    ['Muster: busy cores', ({ plan }) => short(plan.cores.node)],
    ['Muster: processes, a core each', ({ plan }) => short(plan.processes)],
    ['Muster: memory', ({ plan }) => gigabytes(plan.memory.node)],
    ['PostgreSQL: busy cores', ({ plan }) => short(plan.cores.postgres)],
    ['PostgreSQL: cores', ({ plan }) => short(plan.postgresCores)],
    ['PostgreSQL: servers', ({ plan }) => short(plan.servers)],
    ['PostgreSQL: memory', ({ plan }) => gigabytes(plan.memory.postgres)],
    ['PostgreSQL: connections', ({ plan }) => short(plan.databaseConnections)],
    ['log per second, average', ({ plan }) => `${short(plan.wal.all / 1e6)} MB`],
    ['log per day', ({ plan }) => gigabytes(plan.wal.perDay)],
    ['`max_wal_size`', ({ plan }) => gigabytes(plan.wal.maxWal)],
    ['disk: devices', ({ plan }) => gigabytes(plan.bytes.devices)],
    ['disk: kept actions', ({ plan }) => gigabytes(plan.bytes.actions)],
    ['disk: milestones', ({ plan }) => gigabytes(plan.bytes.milestones)],
    ['disk: all, with dead rows and log', ({ plan }) => gigabytes(plan.disk)],
    [
      'network in, out',
      ({ plan }) => `${short(plan.network.in / 1e6)}, ${short(plan.network.out / 1e6)} MB/s`,
    ],
    [
      'cores, memory, disk per month',
      ({ plan: { price } }) => [price.cores, price.memory, price.disk].map(money).join(' + '),
    ],
    ['per month', ({ plan: { price } }) => money(price.cores + price.memory + price.disk)],
  ];
  return [
    `| | ${fleets.map(([name]) => name).join(' | ')} |`,
    `|---|${fleets.map(() => '---|').join('')}`,
    ...lines.map(([name, of]) => `| ${name} | ${plans.map(of).join(' | ')} |`),
  ].join('\n');
}

/** @param {readonly (readonly [string, Fleet])[]} fleets @param {import('./model.mjs').Costs} costs */
function limitTable(fleets, costs) {
  const rows = fleets.map(([name, fleet]) => {
    const { limits } = planOf(fleet, costs);
    const [first, second] = limits;
    if (!first || !second) throw new Error('There are two limits at least.');
    return `| ${name} | ${first.name} | ${percent(first.share)} | ${second.name} | ${percent(second.share)} |`;
  });
  return ['| fleet | first limit | used | next limit | used |', '|---|---|---|---|---|', ...rows].join('\n');
}

/** @param {import('./model.mjs').Costs} costs */
function freshTable(costs) {
  const rows = FLEETS.map(([name, fleet]) => {
    const cores = (/** @type {Fleet['connections']} */ connections) =>
      short(planOf({ ...fleet, connections }, costs).cores.node);
    return `| ${name} | ${cores('kept')} | ${cores('fresh')} | ${cores('tls')} |`;
  });
  return [
    '| fleet | kept by a balancer | new for each check-in | new, TLS in Muster |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** @param {import('./model.mjs').Costs} costs */
function costsTable(costs) {
  const line = (
    /** @type {string} */ name,
    /** @type {any} */ { nodeMicros, postgresMicros, walBytes, imageBytes },
  ) =>
    `| ${name} | ${short(nodeMicros)} | ${short(postgresMicros)} | ${walBytes === undefined ? '' : short(walBytes)} | ${imageBytes === undefined ? '' : short(imageBytes)} |`;
  const { bytes, parked, checkIn, measured } = costs;
  const action = {
    nodeMicros: ofAction(costs, 'nodeMicros'),
    postgresMicros: ofAction(costs, 'postgresMicros'),
    walBytes: ofAction(costs, 'walBytes'),
  };
  return [
    '| | Node, µs | PostgreSQL, µs | log, bytes | whole pages, bytes |',
    '|---|---|---|---|---|',
    line('a check-in without work', checkIn),
    line('a check-in that gets an action', costs.handOut),
    line('a check-in that reports one', costs.report),
    line('a check-in over a new connection', costs.freshConnection),
    line('the same over TLS (ECDSA P-256)', costs.freshTls),
    line('a check-in that waits in vain', costs.parkedCheckIn),
    line('assigning an action, in a batch', costs.assign),
    line('deleting an action after its time', costs.prune),
    line('deleting its milestones', costs.pruneMilestones),
    line('**an action, all in all, beside two check-ins**', action),
    '',
    '| stored | bytes |',
    '|---|---|',
    `| a device: its rows and its token, lane and last contact | ${short(bytes.device)} |`,
    `| a finished action with its history, until it is deleted | ${short(bytes.finishedAction + bytes.eventsOfAction)} |`,
    `| the same while it is unfinished, in addition | ${short(bytes.waitingAction)} |`,
    `| three milestones of an action | ${short(bytes.milestonesOfAction)} |`,
    `| a parked client, in the memory of its process | ${short(parked.rssBytes)} |`,
    `| a process without clients, after this load | ${short(costs.process.rssBytes / 1e6)} MB |`,
    `| a check-in on the network, in and out, without TCP and TLS | ${short(checkIn.bytesIn)}, ${short(checkIn.bytesOut)} |`,
    '',
    `Measured ${measured.at}, commit ${measured.commit}, ${short(measured.devices)} devices, ${measured.cpu} with ${measured.cores} cores, Node ${measured.node}.`,
  ].join('\n');
}

/** @param {number} n */
function short(n) {
  if (n >= 1e6 && n % 1e5 === 0) return `${n / 1e6} M`;
  if (n >= 100 || Number.isInteger(n)) return Math.round(n).toLocaleString('en');
  return n.toPrecision(2).replace(/\.0$/, '');
}

/** @param {number} bytes */
function gigabytes(bytes) {
  if (bytes >= 1e12) return `${(bytes / 1e12).toFixed(1)} TB`;
  return `${bytes >= 1e10 ? Math.round(bytes / 1e9) : (bytes / 1e9).toFixed(1)} GB`;
}

/** @param {number} n */
const money = (n) => Math.round(n).toLocaleString('en');

/** @param {number} share */
const percent = (share) => `${share >= 0.1 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`;
