import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabase } from '@muster/engine/testing';
import { expect, test } from 'vitest';
import { deafStage } from '../testing/balancer/deaf-stage.ts';
import { describeWitness } from '../testing/balancer/main.ts';
import { balancerStage } from '../testing/balancer/stage.ts';
import { upgradeCommands, upgradeTo } from '../testing/balancer/upgrade-act.ts';
import { MUSTER, TORTURE } from '../testing/programs.ts';
import { describeRound } from '../testing/torture/describe-round.ts';
import { playRound } from '../testing/torture/round.ts';

// Nodes behind HAProxy with the configuration in deploy/haproxy, which `.ci/run` installs. The servers are the build, which
// `npm test` makes first. `npm run balancer` runs for longer (docs/testing.md).
const SEED = process.env.MUSTER_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
const CLIENTS = { enqueuers: 2, workers: 4 };
const folder = () => mkdtempSync(path.join(tmpdir(), 'muster-balancer-'));

test('G2 G11 G39 G43 G54 G64 G87 G88: behind a balancer without stickiness nothing is lost while nodes are killed, stopped, drained and upgraded', {
  timeout: 600_000,
}, async () => {
  const where = folder();
  const stage = await balancerStage(where, { drainSeconds: 2 });
  const upgrade = upgradeTo(stage, where, { server: TORTURE, command: MUSTER });
  const { 'drain a node': _, ...others } = stage.acts; // an upgrade drains all of them
  const acts = { ...others, 'upgrade to the same version': upgrade };
  try {
    const result = await playRound(
      { ...stage, acts },
      {
        ...{ seed: SEED, callsBetween: 20, folder: where, clients: CLIENTS },
        disturbances: Object.keys(acts).length,
      },
    );
    const text = [...describeRound(result), describeWitness(stage.witness)].join('\n');
    console.log(`balancer, MUSTER_TEST_SEED=${SEED}\n${text}`);
    expect(result.findings, `${text}\nThe calls are in ${where}`).toEqual([]);
    expect([...result.disturbances.keys()].toSorted()).toEqual(Object.keys(acts).toSorted());
    expect(stage.witness.counts.get('answer')).toBeGreaterThan(0);
    rmSync(where, { force: true, recursive: true });
  } finally {
    await stage.close();
  }
});

test('the documentation of an upgrade migrates once and restarts each node', () => {
  const { each, once, packages } = upgradeCommands();
  expect(once).toEqual(['muster migrate up']);
  expect(each[0]).toBe('systemctl restart muster');
  expect(each[1]).toMatch(/^curl .*127\.0\.0\.1:4000\/readyz$/);
  expect(packages).toEqual(['apt-get install ./muster_<version>_<arch>.deb', each[1]]);
});

/** How often chance may spare the node that hears nothing. */
const MOST_ROUNDS = 5;

test('G39: a node that does not hear what other nodes take in is detected', {
  timeout: 600_000,
}, async () => {
  const promises: string[] = [];
  for (let round = 1; round <= MOST_ROUNDS && !promises.includes('G39'); round += 1) {
    const where = folder();
    const database = await testDatabase({ migrated: false });
    const stage = await deafStage(database.url as string, where);
    try {
      const { findings } = await playRound(stage, {
        ...{ seed: `deaf ${round}`, callsBetween: 10, folder: where, clients: CLIENTS },
        ...{ disturbances: 1, mostSweeps: 4 },
      });
      promises.push(...findings.map(({ promise }) => promise));
    } finally {
      await stage.close();
      await database.drop();
      rmSync(where, { force: true, recursive: true });
    }
  }
  expect(promises).toContain('G39');
});
