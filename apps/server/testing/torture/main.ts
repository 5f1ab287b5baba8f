import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeRound } from './describe-round.ts';
import { type DatabaseName, type RoundResult, runRound } from './round.ts';

/**
 * `npm run torture`: rounds, each on a new installation, until the time is up. The number of a round is part of its seed, so
 * `--seed 7 --from 12 --rounds 1` plays the twelfth again.
 */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      rounds: { type: 'string' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      database: { type: 'string', default: 'both' },
      disturbances: { type: 'string', default: '28' },
      calls: { type: 'string', default: '150' },
    },
  });
  const databases = databasesOf(values.database);
  if (!databases) {
    console.error('--database is postgres, embedded, both or failover.');
    return 2;
  }
  const until = performance.now() + Number(values.minutes) * 60_000;
  const last =
    values.rounds === undefined ? Number.POSITIVE_INFINITY : Number(values.from) + Number(values.rounds) - 1;
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-torture-'));
  console.log(`seed ${values.seed}, logs in ${folder}`);
  const results: RoundResult[] = [];
  for (
    let n = Number(values.from);
    n <= last && (values.rounds !== undefined || performance.now() < until);
    n += 1
  ) {
    const database = databases[n % databases.length] as DatabaseName;
    const roundFolder = path.join(folder, `${n}-${database}`);
    const result = await runRound({
      database,
      seed: `${values.seed}/${n}`,
      disturbances: Number(values.disturbances),
      callsBetween: Number(values.calls),
      folder: roundFolder,
      slow: true,
    });
    results.push(result);
    console.log(`\nround ${n} on ${database}\n${describeRound(result).join('\n')}`);
    if (result.findings.length === 0) rmSync(roundFolder, { force: true, recursive: true });
  }
  const sum = addUp(results);
  console.log(`\nseed ${values.seed}, ${results.length} rounds`);
  for (const line of describeRound(sum).slice(0, 5)) console.log(line);
  if (sum.findings.length > 0) console.log(`The logs of the rounds with violations are in ${folder}`);
  else rmSync(folder, { force: true, recursive: true });
  return sum.findings.length === 0 ? 0 : 1;
}

function databasesOf(word: string): DatabaseName[] | null {
  if (word === 'both') return ['postgres', 'embedded'];
  return word === 'postgres' || word === 'embedded' || word === 'failover' ? [word] : null;
}

function addUp(results: readonly RoundResult[]): RoundResult {
  const disturbances = new Map<string, number>();
  for (const result of results)
    for (const [name, times] of result.disturbances)
      disturbances.set(name, (disturbances.get(name) ?? 0) + times);
  const sum = (of: (result: RoundResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  return {
    disturbances,
    kills: sum(({ kills }) => kills),
    crashes: sum(({ crashes }) => crashes),
    calls: sum(({ calls }) => calls),
    unknown: sum(({ unknown }) => unknown),
    actions: sum(({ actions }) => actions),
    events: sum(({ events }) => events),
    findings: results.flatMap(({ findings }) => findings),
  };
}
