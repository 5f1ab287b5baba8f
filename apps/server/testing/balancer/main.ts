import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeRound } from '../torture/describe-round.ts';
import { playRound } from '../torture/round.ts';
import { balancerStage } from './stage.ts';
import type { Witness } from './witness.ts';

/** `npm run balancer -- --disturbances 40 --seed 7`: one long round behind HAProxy. Exits with 0 if no promise was broken. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      disturbances: { type: 'string', default: '25' },
      calls: { type: 'string', default: '150' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    },
  });
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-balancer-'));
  console.log(`seed ${values.seed}, logs in ${folder}`);
  const stage = await balancerStage(folder);
  try {
    const result = await playRound(stage, {
      seed: values.seed,
      disturbances: Number(values.disturbances),
      callsBetween: Number(values.calls),
      folder,
      slow: true,
    });
    console.log([...describeRound(result), describeWitness(stage.witness)].join('\n'));
    if (result.findings.length === 0) rmSync(folder, { force: true, recursive: true });
    return result.findings.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

export function describeWitness({ counts, drains }: Witness): string {
  const seen = [...counts].map(([what, times]) => `${what} ${times}`);
  return `doors        ${seen.join(', ')}; ${drains} drains that the balancer knew of in time`;
}
