import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { muster, temporaryFolder } from '../testing/muster-process.ts';
import { MUSTER, processOf, until } from '../testing/process-stage.ts';

/** What `muster agent` says when it cannot work, and when it may do nothing. */
const folder = temporaryFolder();
const at = (name: string) => path.join(folder.path, name);
const idle = createServer((_request, response) => response.writeHead(503).end());
let url = '';
beforeAll(async () => {
  writeFileSync(at('token'), 'mst_agent_1_abc\n');
  writeFileSync(at('units'), '# the web server\nnginx.service\n');
  writeFileSync(at('no-units'), '# nothing yet\n\n');
  mkdirSync(at('odd/journal.ndjson'), { recursive: true });
  await once(idle.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(idle.address() as AddressInfo).port}`;
});
afterAll(() => {
  idle.close();
  folder.remove();
});

const flags = (other: Record<string, string>) =>
  Object.entries({
    '--server': url,
    '--token-file': at('token'),
    '--state-dir': at('state'),
    ...other,
  }).flat();

it.each([
  ['token', 'EEXIST: file already exists'],
  ['token/x', 'ENOTDIR: not a directory'],
  ['odd', 'EISDIR: illegal operation on a directory'],
])('the state folder %s ends it with 1 and a sentence', async (name, why) => {
  const other = { '--state-dir': at(name), '--allow-file': at('units') };
  expect(await muster(['agent', ...flags(other)], {})).toMatchObject({
    code: 1,
    notes: `The state folder ${at(name)} cannot be used (${why}). Name another one with --state-dir.\n`,
  });
});

it.each([
  ['gone', /^No unit is allowed: there is no list \S+\/gone\. .*counts at once\.$/m],
  ['no-units', /^No unit is allowed: nothing is on the list \S+\/no-units\./m],
  ['odd', /^No unit is allowed: the list cannot be read: EISDIR/m],
])('says at the start that no unit is allowed with the list %s', async (name, sentence) => {
  const agent = started(name);
  await agent.start();
  await until(() => sentence.test(agent.output()));
  expect(await agent.stop()).toBe(0);
});

it('says nothing of the kind with a list', async () => {
  const agent = started('units');
  await agent.start();
  expect(await agent.stop()).toBe(0);
  expect(agent.output()).not.toContain('No unit');
});

const started = (list: string) =>
  processOf([MUSTER, 'agent', ...flags({ '--allow-file': at(list) })], /asked again/, {});
