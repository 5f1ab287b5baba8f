import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MUSTER, TORTURE } from '../programs.ts';
import { describeRound } from '../torture/describe-round.ts';
import { playRound } from '../torture/round.ts';
import { describeWitness } from './main.ts';
import { balancerStage } from './stage.ts';
import { upgradeTo } from './upgrade-act.ts';

/**
 * `npm run upgrade:test -- <base commit>`: builds that commit beside this one, lets its nodes make the database and serve under load,
 * and upgrades them to this version. Exits with 0 if no promise was broken.
 */
const CALLS = 100;

export async function main([base, seed = '1']: readonly string[]): Promise<number> {
  if (base === undefined) {
    console.error('Which commit does the upgrade start from? npm run upgrade:test -- <commit> [<seed>]');
    return 2;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-upgrade-'));
  const checkout = path.join(folder, 'base');
  try {
    console.log(`building ${git('log', '-1', '--format=%h %s', base).trim()}`);
    git('worktree', 'add', '--quiet', '--detach', checkout, base);
    run(checkout, 'npm', 'ci', '--no-audit', '--no-fund');
    run(checkout, 'npx', 'tsc', '-b');
    return await play(folder, [path.join(checkout, 'apps/server/testing/torture/serve.mjs')], seed);
  } finally {
    git('worktree', 'remove', '--force', checkout);
  }
}

async function play(folder: string, program: readonly string[], seed: string): Promise<number> {
  const stage = await balancerStage(folder, { program });
  try {
    const upgrade = upgradeTo(stage, folder, { server: TORTURE, command: MUSTER });
    const result = await playRound(
      { ...stage, acts: { upgrade } },
      { seed, disturbances: 1, callsBetween: CALLS, folder },
    );
    console.log([...describeRound(result), describeWitness(stage.witness)].join('\n'));
    if (result.findings.length > 0) console.log(`The logs are in ${folder}`);
    else rmSync(folder, { force: true, recursive: true });
    return result.findings.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' });

function run(cwd: string, program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
