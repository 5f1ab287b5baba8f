// The table for people and the file for programs. Text written by hand in RESULTS.md, between the two marks, stays.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const BEGIN = '<!-- written by hand: begin -->';
const END = '<!-- written by hand: end -->';

/** @param {number} n */
export function short(n) {
  if (!Number.isFinite(n)) return '–';
  if (Math.abs(n) >= 1_000) return Math.round(n).toLocaleString('en');
  return n >= 100 ? n.toFixed(0) : n.toFixed(2);
}

/** @param {any} results */
export function tables(results) {
  const rows = results.rows.map((/** @type {any} */ row) => {
    const figure = row.notRun ? `not run: ${row.notRun}` : `${short(row.value)} ${row.unit}`;
    const spread = row.notRun ? '' : row.runs.map((/** @type {any} */ run) => short(run.value)).join(' · ');
    const latency = row.p99 === undefined ? '' : `${short(row.p50)} / ${short(row.p99)}`;
    const busy = [
      row.busyCores?.toFixed(2),
      row.serverCores === undefined
        ? undefined
        : `server ${row.serverCores.toFixed(2)}, PostgreSQL ${row.postgresCores.toFixed(2)}`,
    ]
      .filter(Boolean)
      .join(': ');
    const stolen = row.stolen === undefined ? '' : `${Math.round(row.stolen * 100)} %`;
    return `| ${row.title} | ${figure} | ${spread} | ${latency} | ${busy} | ${stolen} |`;
  });
  const aims = results.aims.map((/** @type {any} */ aim) => {
    const unknown = aim.disturbed ? 'disturbed' : 'not measured';
    const verdict = aim.reached === null ? unknown : aim.reached ? 'reached' : '**not reached**';
    const value = aim.value === null ? '–' : `${short(aim.value)}${aim.unit}`;
    return `| ${aim.text} | ${aim.atMost ? 'at most' : 'at least'} ${short(aim.target)}${aim.unit} | ${value} | ${verdict} |`;
  });
  return [
    '| aim | | measured | |',
    '|---|---|---|---|',
    ...aims,
    '',
    '| row | median | all runs | p50 / p99 ms | busy cores | stolen |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** Returns the files. The one for programs is never part of the repository. @param {any} results @param {string} folder @param {string} cache */
export function writeResults(results, folder, cache) {
  for (const one of [folder, cache]) mkdirSync(one, { recursive: true });
  const forPrograms = path.join(cache, 'results.json');
  writeFileSync(forPrograms, `${JSON.stringify(results, null, 2)}\n`);
  const file = path.join(folder, 'RESULTS.md');
  const old = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const byHand =
    old.includes(BEGIN) && old.includes(END)
      ? old.slice(old.indexOf(BEGIN) + BEGIN.length, old.indexOf(END))
      : '\n';
  const { machine, options, postgres, redis, versions } = results;
  const list = (/** @type {Record<string, unknown>} */ settings) =>
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value === '' ? "''" : value}`)
      .join(', ');
  const text = `# Benchmark

Written by \`npm run bench\`; everything outside the part written by hand is made anew by each full run.

${results.date}, commit ${results.commit}. ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system},
Node ${machine.node} (peers, which need a newer one, and rows of the engine: ${versions['newer Node']}). Clients, servers and load share the machine, so
figures of different rows may be compared with each other, not with those of other machines.

PostgreSQL ${postgres.version}: ${list(postgres.settings)}. Redis ${redis.version}: ${list(redis.settings)}.
Sizes: ${list(options)}. Each figure is the median of ${options.repeat} runs, each in a new process on a new database; a ratio is taken round by
round, and its median counts. Stolen: the share of the machine that its host gave to others meanwhile; a row that lost more
than a twentieth is measured again, up to three times, and the least disturbed try counts.

${tables(results)}

What each row does:

${results.rows.map((/** @type {any} */ row) => `- **${row.title}**${row.version ? ` (${row.version})` : ''}: ${row.settings}.`).join('\n')}

${BEGIN}${byHand}${END}
`;
  writeFileSync(file, text);
  return [file, forPrograms];
}
