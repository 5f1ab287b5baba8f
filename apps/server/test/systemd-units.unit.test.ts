import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { muster } from '../testing/muster-process.ts';

/** The included unit files, compared with the command that they start. */
const fileOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it.each([
  ['agent', 'docs/agent-install.md'],
  ['runner', 'docs/runner.md'],
])('the unit of the %s has all it requires and nothing unknown, and %s installs it', async (name, page) => {
  const unit = fileOf(`packages/agent/systemd/muster-${name}.service`);
  const [, line = ''] =
    new RegExp(`^ExecStart=/opt/muster/apps/server/bin/muster.js ${name} (.*)$`, 'm').exec(unit) ?? [];
  const used: string[] = line.match(/--[a-z-]+/g) ?? [];
  const known: string[] = (await muster([name, '--help'], {})).out.match(/(?<=^ +)--[a-z-]+/gm) ?? [];
  expect(used).toEqual(expect.arrayContaining(['--server', '--token-file', '--state-dir', '--grace']));
  expect(known).toEqual(expect.arrayContaining(used));
  const { notes } = await muster([name, ...line.split(' '), '--no-such-option'], {});
  expect(notes).toMatch(/unknown option '--no-such-option'/);

  const text = fileOf(page);
  expect(text).toContain(`packages/agent/systemd/muster-${name}.service`);
  for (const [, variable = ''] of line.matchAll(/\$\{(\w+)\}/g)) expect(text).toContain(`${variable}=`);
  for (const option of known) expect(text).toContain(`\`${option}\``);
});
