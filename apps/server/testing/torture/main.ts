import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type RoundResult, runRound } from './round.ts';

/** `npm run torture`: rounds until the time is over. */
export async function main(args: readonly string[]): Promise<number> {
  const value = (name: string, fallback: string) => {
    const at = args.indexOf(`--${name}`);
    return at < 0 ? fallback : (args[at + 1] ?? fallback);
  };
  const result: RoundResult = await runRound({
    database: value('database', 'postgres') as 'postgres',
    seed: value('seed', '1'),
    disturbances: Number(value('disturbances', '14')),
    callsBetween: Number(value('calls', '80')),
    folder: mkdtempSync(path.join(tmpdir(), 'muster-torture-')),
  });
  console.log(result);
  return result.findings.length;
}
