import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { finding } from '../torture/finding.ts';
import type { Act, ActTools } from '../torture/stage.ts';
import { drain } from './acts.ts';
import type { BalancedStage } from './stage.ts';

/**
 * A rolling upgrade under load, by the commands of docs/operations.md: the new version migrates while the old nodes serve, then each
 * node is replaced. `systemctl` is a stand-in that tells this process which node to restart with the new version.
 */
export interface Version {
  /** Its server for a node of the stage. */
  readonly server: readonly string[];
  /** Its muster command. */
  readonly command: readonly string[];
}

const PAGE = new URL('../../../../docs/operations.md', import.meta.url);
/** /readyz remembers its answer for a second. */
const READY_KEPT_MS = 1_100;
const CALLS_BETWEEN = 20;

/** The commands of "Upgrading": those for packages, which only their own test can run, and from clones those to run once and for each node. */
export function upgradeCommands(text = readFileSync(PAGE, 'utf8')): {
  packages: string[];
  once: string[];
  each: string[];
} {
  const section = /^## Upgrading\n(.*?)^## /ms.exec(text)?.[1] ?? '';
  const [packages = [], once = [], each = []] = section
    .split(/\n\n/)
    .filter((block) => block.startsWith('    '))
    .map((block) => block.split('\n').flatMap((line) => line.trim().split(/\s{2,}/)[0] || []));
  return { packages, once, each };
}

export function upgradeTo(stage: BalancedStage, folder: string, version: Version): Act {
  return async (on) => {
    const bin = standIns(folder, version);
    const { once, each } = upgradeCommands();
    let current = 0;
    const restarts = await restartsOnDemand(() => drain(stage, current, on, version.server));
    const run = (command: string, port: number) =>
      promisify(execFile)('sh', ['-c', command.replace('127.0.0.1:4000', `127.0.0.1:${port}`)], {
        env: { ...stage.env, PATH: `${bin}:${process.env.PATH}`, RESTARTS: restarts.url },
      });
    try {
      await on.later(CALLS_BETWEEN);
      for (const command of once) console.log(`${command}\n${(await run(command, 0)).stdout.trim()}`);
      await oldNodesStayReady(stage, on);
      for (current = 0; current < stage.nodes.length; current += 1) {
        await on.later(CALLS_BETWEEN);
        for (const command of each) await run(command, stage.nodes[current]?.port ?? 0);
      }
      if (restarts.count() !== stage.nodes.length)
        throw new Error(`The commands restarted ${restarts.count()} of ${stage.nodes.length} nodes.`);
      await on.later(CALLS_BETWEEN);
    } finally {
      restarts.close();
    }
  };
}

async function oldNodesStayReady({ nodes }: BalancedStage, { found }: ActTools): Promise<void> {
  await pause(READY_KEPT_MS);
  for (const { name, port } of nodes) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    if (!answer.ok)
      found(finding('G88', null, `after the migration ${name}, still old, says ${await answer.text()}`));
  }
}

function standIns(folder: string, { command }: Version): string {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const scripts = {
    muster: `exec '${process.execPath}' ${command.map((word) => `'${word}'`).join(' ')} "$@"`,
    systemctl: '[ "$*" = "restart muster" ] && exec curl -sS --fail-with-body -X POST "$RESTARTS"',
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  return bin;
}

async function restartsOnDemand(restart: () => Promise<void>) {
  let count = 0;
  const server = createServer((_, response) => {
    restart().then(
      () => {
        count += 1;
        response.end();
      },
      (error) => {
        response.statusCode = 500;
        response.end(String(error));
      },
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => count,
    close: () => void server.close(),
  };
}
