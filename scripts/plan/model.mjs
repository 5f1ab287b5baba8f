// From measured costs (costs.json) and a fleet to what it needs: processes, cores, memory, disk, log, price, and the limit that it
// reaches first. Pure arithmetic; docs/scaling.md says what each part rests on, and `npm run plan:day` compares it with the engine.

const DAY = 86_400;
const PAGE = 8_192;
const GB = 1e9;

/** The longest wait of one request: a waiting client asks again after that. */
const LONGEST_WAIT = 25;
/** A device that is done reports with its next check-in if that is as soon, and otherwise with one of its own. */
export const REPORTS_WITHIN = 60;
/** Connections of a process to PostgreSQL: three pools, the reserved ones and the listener (docs/operations.md). */
const CONNECTIONS = 21;
/** The default of MUSTER_MAX_WAITING. */
const MOST_WAITING = 50_000;
/** How many assignments of kept actions the duty prune-assignments looks at in a day. */
const LOOKED_AT_A_DAY = 100_000 * 1_440;
/** After each checkpoint: the last pages of some forty tables and indexes, as seen with five hundred devices. */
const ENDS_BYTES = 45_000;
/** The history is dropped by whole days, a day after the last of its actions may be deleted. */
const DAYS_MORE = 2;
/** Autovacuum comes when a fifth of a table is dead. */
const DEAD = 1.2;
/** Memory of a session of PostgreSQL, and of the server beside its buffers: ours to assume, not measured. */
const SESSION_BYTES = 10e6;
const SERVER_BYTES = 2 * GB;
/** What the kernel keeps about an open connection: assumed. */
const SOCKET_BYTES = 4_000;

export const DEFAULTS = {
  devices: 1_000_000,
  /** Seconds between two check-ins of a device. */
  every: 60,
  /** Actions per device and day, assigned by batches. */
  actionsPerDay: 5,
  /** Of actions, at the busiest time of the day, over the average. */
  peak: 1.8,
  /** The share of the devices that wait in a long poll instead of checking in now and then. */
  waiting: 0,
  /** The share of its time that a device is online. */
  online: 1,
  /** `kept` by a balancer; `fresh` for each check-in, or `tls`: fresh, and decrypted by Muster. */
  connections: /** @type {'kept' | 'fresh' | 'tls'} */ ('kept'),
  keepDays: 14,
  milestoneDays: 365,
  /** Seconds between two checkpoints, if max_wal_size is as planned. */
  checkpointEvery: 900,
  /** How busy a core may be on average. */
  busy: 0.6,
  /** What one database server is trusted with. */
  serverCores: 32,
  serverWalMb: 200,
  serverConnections: 1_000,
  serverMemoryGb: 256,
  serverDiskGb: 8_000,
  /** Examples, per month. */
  priceCore: 25,
  priceMemoryGb: 3,
  priceDiskGb: 0.1,
};

/** @typedef {typeof DEFAULTS} Fleet */
/** @typedef {typeof import('./costs.json')} Costs */

/** Per second: what happens in a fleet. @param {Fleet} fleet */
export function ratesOf({ devices, every, actionsPerDay, waiting, online }) {
  const actions = (devices * actionsPerDay) / DAY;
  const scheduled = (devices * (1 - waiting) * online) / every;
  const reports = actions * (every > REPORTS_WITHIN ? 1 : waiting);
  return { actions, checkIns: scheduled + reports, asksAgain: (devices * waiting * online) / LONGEST_WAIT };
}

/**
 * An action from its assignment until it is deleted, beside the check-ins in which it is handed out and reported.
 * @param {Costs} costs @param {'postgresMicros' | 'nodeMicros' | 'walBytes'} what
 */
export function ofAction({ assign, handOut, report, checkIn, prune, pruneMilestones }, what) {
  return (
    assign[what] + handOut[what] + report[what] - 2 * checkIn[what] + prune[what] + pruneMilestones[what]
  );
}

/**
 * Bytes of tables and indexes, dead rows included where rows are deleted all the time.
 * @param {Fleet} fleet @param {Costs} costs
 */
export function bytesOf({ devices, every, actionsPerDay, keepDays, milestoneDays }, { bytes }, dead = DEAD) {
  const perDay = devices * actionsPerDay;
  const unfinished = perDay * Math.min(1, every / 2 / DAY);
  return {
    devices: devices * bytes.device,
    actions:
      perDay * keepDays * bytes.finishedAction * dead +
      perDay * (keepDays + DAYS_MORE) * bytes.eventsOfAction +
      unfinished * bytes.waitingAction,
    milestones: perDay * milestoneDays * bytes.milestonesOfAction * dead,
  };
}

/**
 * Bytes of log per second: records, and whole pages. A page is written whole the first time it changes after a checkpoint, so this
 * depends on how many pages the changes of one interval are spread over. Rows of actions and their endings are appended; what is
 * found by device is anywhere: of an index, at most the one page with the device's newest entries.
 * @param {Fleet} fleet @param {Costs} costs @param {number} [peak] of actions
 */
export function walOf(fleet, costs, peak = 1) {
  const { devices, every, actionsPerDay, keepDays, milestoneDays, checkpointEvery } = fleet;
  const rates = ratesOf(fleet);
  const actions = rates.actions * peak;
  const checkIns = rates.checkIns + rates.asksAgain;
  const records = checkIns * costs.checkIn.walBytes + actions * ofAction(costs, 'walBytes');
  const days = { milestones_pkey: milestoneDays, actions_of_lane: keepDays };
  // the moments of an action (assigned; handed out and reported) are in one interval or in two
  const moments = every < checkpointEvery ? 1 : 2;
  const touches = {
    contacts: checkIns,
    devices: actions,
    lanes: actions,
    milestones_pkey: actions * moments,
    actions_of_lane: actions,
  };
  let images =
    ENDS_BYTES / checkpointEvery +
    actions * (costs.otherImageBytes + costs.prune.imageBytes + costs.pruneMilestones.imageBytes);
  for (const name of /** @type {(keyof typeof touches)[]} */ (Object.keys(touches))) {
    const kept = name in days ? actionsPerDay * days[/** @type {keyof typeof days} */ (name)] : 1;
    const pages = Math.max(1, Math.min(devices, (devices * kept * costs.pages[name]) / PAGE));
    const touched = pages * (1 - Math.exp((-touches[name] * checkpointEvery) / pages));
    images += (touched * costs.imageBytes[name]) / checkpointEvery;
  }
  return { records, images, all: records + images };
}

/**
 * Seconds of PostgreSQL in a day for looking at assignments of kept actions: in each minute at so many, if there are as many.
 * @param {Fleet} fleet @param {Costs} costs
 */
export function lookingOf({ devices, actionsPerDay, keepDays }, { lookAtKept }) {
  const aDay = Math.min(LOOKED_AT_A_DAY, devices * actionsPerDay * keepDays * 1_440);
  return (aDay * lookAtKept.postgresMicros) / 1e6;
}

/** Cores that are busy, on average over the busiest time. @param {Fleet} fleet @param {Costs} costs */
function coresOf(fleet, costs) {
  const { actions, checkIns, asksAgain } = ratesOf(fleet);
  const anew = { kept: costs.checkIn, fresh: costs.freshConnection, tls: costs.freshTls }[fleet.connections];
  const of = (/** @type {'postgresMicros' | 'nodeMicros'} */ what) =>
    (checkIns * Math.max(costs.checkIn[what], anew[what]) +
      asksAgain * costs.parkedCheckIn[what] +
      actions * fleet.peak * ofAction(costs, what)) /
    1e6;
  return { node: of('nodeMicros'), postgres: of('postgresMicros') + lookingOf(fleet, costs) / DAY };
}

/**
 * The share that is used of each limit, the highest first. What `isOfServer` ends where a second database server begins to help.
 * @param {Fleet} fleet @param {Costs} costs
 * @param {{ postgresCores: number, processes: number, walAtPeak: number, memory: number, disk: number }} needs
 */
function limitsOf(fleet, { assign, prune, pruneMilestones }, needs) {
  const actionsAtPeak = ratesOf(fleet).actions * fleet.peak;
  const { postgresMicros: pruning } = prune;
  const keeping = assign.postgresMicros + assign.nodeMicros + pruning + pruneMilestones.postgresMicros;
  const ofServer = [
    { name: 'cores', share: needs.postgresCores / fleet.serverCores },
    { name: 'log', share: needs.walAtPeak / 1e6 / fleet.serverWalMb },
    { name: 'connections', share: (needs.processes * CONNECTIONS) / fleet.serverConnections },
    { name: 'memory', share: needs.memory / GB / fleet.serverMemoryGb },
    { name: 'disk', share: needs.disk / GB / fleet.serverDiskGb },
  ].map(({ name, share }) => ({ name: `${name} of one database server`, share, isOfServer: true }));
  const ofHousekeeping = [
    // one process does it, in one connection
    { name: 'housekeeping', share: (actionsAtPeak * keeping) / 1e6 / fleet.busy },
    // at 100 % it goes round once in the time that actions are kept, so twice as many assignments are stored
    { name: 'housekeeping of assignments', share: (fleet.devices * fleet.actionsPerDay) / LOOKED_AT_A_DAY },
  ].map((one) => ({ ...one, isOfServer: false }));
  return [...ofServer, ...ofHousekeeping].sort((a, b) => b.share - a.share);
}

/**
 * What PostgreSQL and the processes need. PostgreSQL's is for keeping in memory what is touched in a day: all rows of devices, the
 * actions of a day, and for each device a page of both indexes.
 * @param {Fleet} fleet @param {Costs} costs @param {number} processes
 */
function memoryOf(fleet, costs, processes) {
  const { devices, actionsPerDay, keepDays, milestoneDays } = fleet;
  const { pages, process, parked } = costs;
  const bytes = bytesOf(fleet, costs);
  const ofIndexes =
    actionsPerDay * (keepDays * pages.actions_of_lane + milestoneDays * pages.milestones_pkey);
  const hot = bytes.devices + bytes.actions / keepDays + devices * Math.min(2 * PAGE, ofIndexes);
  const waiting = devices * fleet.waiting * fleet.online;
  return {
    postgres: SERVER_BYTES + 1.25 * hot + processes * CONNECTIONS * SESSION_BYTES,
    node: processes * process.rssBytes + waiting * (parked.rssBytes + SOCKET_BYTES),
  };
}

/** @param {Fleet} fleet @param {Costs} costs */
export function planOf(fleet, costs) {
  const rates = ratesOf(fleet);
  const requests = rates.checkIns + rates.asksAgain;
  const cores = coresOf(fleet, costs);
  const wal = walOf(fleet, costs);
  const walAtPeak = walOf(fleet, costs, fleet.peak).all;
  const bytes = bytesOf(fleet, costs);
  const parked = fleet.devices * fleet.waiting * fleet.online;
  const processes = Math.max(1, Math.ceil(cores.node / fleet.busy), Math.ceil(parked / MOST_WAITING));
  const postgresCores = Math.max(1, Math.ceil(cores.postgres / fleet.busy));
  const memory = memoryOf(fleet, costs, processes);
  const maxWal = 2 * walAtPeak * fleet.checkpointEvery;
  const disk = bytes.devices + bytes.actions + bytes.milestones + maxWal;
  const limits = limitsOf(fleet, costs, {
    postgresCores,
    processes,
    walAtPeak,
    memory: memory.postgres,
    disk,
  });
  const mostUsed = limits.find(({ isOfServer }) => isOfServer)?.share ?? 0;
  return {
    rates,
    cores,
    processes,
    parked,
    postgresCores,
    servers: Math.max(1, Math.ceil(mostUsed)),
    wal: { ...wal, perDay: wal.all * DAY, maxWal },
    bytes,
    disk,
    memory,
    network: { in: requests * costs.checkIn.bytesIn, out: requests * costs.checkIn.bytesOut },
    databaseConnections: processes * CONNECTIONS,
    limits,
    price: {
      cores: (processes + postgresCores) * fleet.priceCore,
      memory: ((memory.postgres + memory.node) / GB) * fleet.priceMemoryGb,
      disk: (disk / GB) * fleet.priceDiskGb,
    },
  };
}
