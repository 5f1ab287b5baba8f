import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { muster, temporaryFolder } from '../testing/muster-process.ts';
import { processOf, until } from '../testing/process-stage.ts';
import { MUSTER } from '../testing/programs.ts';

/** The messages of `muster agent` when it cannot work, and when no unit is allowed. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
const folder = temporaryFolder();
const at = (name: string) => path.join(folder.path, name);
const idle = createServer((request, response) => {
  const { authorization = '' } = request.headers;
  if (!/revoked/.test(authorization)) response.writeHead(503).end();
  else
    response
      .writeHead(401, { 'content-type': 'application/json' })
      .end('{"error":"Who is that?","code":"X"}');
});
let url = '';
beforeAll(async () => {
  writeFileSync(at('token'), 'mst_agent_1_abc\n');
  writeFileSync(at('revoked'), 'mst_agent_1_revoked\n');
  writeFileSync(at('operator'), 'mst_operator_1_abc\n');
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
])('the state folder %s ends it with exit code 1 and a sentence', async (name, why) => {
  const other = { '--state-dir': at(name), '--allow-file': at('units') };
  expect(await muster(['agent', ...flags(other)], {})).toMatchObject({
    code: 1,
    notes: `The state folder ${at(name)} cannot be used (${why}). Name another one with --state-dir.\n`,
  });
});

it.each([
  [
    { '--token-file': 'operator' },
    1,
    /^The file \S+ does not contain the token of an agent, which begins with mst_agent_\. POST \/api\/hosts shows one\.\n$/,
  ],
  [
    { '--token-file': 'gone', '--enrolment-token-file': 'revoked' },
    2,
    /^The server rejected the enrolment token in \S+revoked: Who is that\? \(401\)\.\n$/,
  ],
])('issue 11: %j ends it with exit code %i and a sentence', async (files, code, sentence) => {
  const named = Object.entries(files).map(([flag, name]) => [flag, at(name)]);
  const ended = await muster(
    ['agent', ...flags({ '--allow-file': at('units'), ...Object.fromEntries(named) })],
    {},
  );
  expect(ended.notes).toMatch(sentence);
  expect(ended.code).toBe(code);
});

it('issue 11: the commands of docs/agent-install.md work as written, and a revoked token ends it with exit code 2 and a sentence', async () => {
  const page = readFileSync(path.join(ROOT, 'docs/agent-install.md'), 'utf8');
  const [words = ''] = /^ +mkdir -m 700 try-agent(?:.*\n)+? .*muster\.js agent .*$/m.exec(page) ?? [];
  const script = words.replaceAll('/opt/muster', ROOT).replace('mst_agent_1_…', 'mst_agent_1_revoked');
  const ended = await promisify(execFile)('sh', ['-ec', script], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, MUSTER: url },
  }).catch((error) => error);
  expect(ended).toMatchObject({
    code: 2,
    stdout: `The agent asks ${url} for work.\n`,
    stderr:
      'The server rejected the token in token: Who is that? (401). The agent stops; put a valid token there and start it again.\n',
  });
});

it.each([
  ['gone', /^No unit is allowed: there is no list \S+\/gone\. .*take effect at once\.$/m],
  ['no-units', /^No unit is allowed: nothing is on the list \S+\/no-units\./m],
  ['odd', /^No unit is allowed: the list cannot be read: EISDIR/m],
])('warns at start that no unit is allowed with the list %s', async (name, sentence) => {
  const agent = started(name);
  await agent.start();
  await until(() => sentence.test(agent.output()));
  expect(await agent.stop()).toBe(0);
});

it('does not warn if units are listed', async () => {
  const agent = started('units');
  await agent.start();
  expect(await agent.stop()).toBe(0);
  expect(agent.output()).not.toContain('No unit');
});

const started = (list: string) =>
  processOf([...MUSTER, 'agent', ...flags({ '--allow-file': at(list) })], /trying again/, {});
