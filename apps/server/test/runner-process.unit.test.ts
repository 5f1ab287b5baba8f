import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { muster, temporaryFolder } from '../testing/muster-process.ts';
import { processOf } from '../testing/process-stage.ts';
import { MUSTER } from '../testing/programs.ts';

/** The messages of `muster runner` when it cannot work, and its exit codes. */
const folder = temporaryFolder();
const at = (name: string) => path.join(folder.path, name);
const stranger = createServer((_request, response) =>
  response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"Who is that?","code":"X"}'),
);
let url = '';
beforeAll(async () => {
  writeFileSync(at('script'), '#!/bin/sh\n');
  chmodSync(at('script'), 0o755);
  writeFileSync(at('no-script'), '');
  mkdirSync(at('a-folder'));
  writeFileSync(at('token'), 'mst_runner_1_abc\n');
  writeFileSync(at('operator'), 'an-operator\n');
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
});
afterAll(() => {
  stranger.close();
  folder.remove();
});

const flags = (other: Record<string, string>) =>
  Object.entries({
    '--server': url,
    '--token-file': at('token'),
    '--pc': '1',
    '--exec': at('script'),
    '--state-dir': at('state'),
    ...other,
  }).flat();

/** The whole message. */
const noState = (name: string, why: string) =>
  new RegExp(
    `^The state folder \\S+/${name} cannot be used \\(${why}\\). Name another one with --state-dir.\n$`,
  );

it.each([
  [{ '--exec': 'gone' }, 1, /^--exec \S+gone does not exist\.\n$/],
  [{ '--exec': 'token/x' }, 1, /^--exec \S+token\/x does not exist\.\n$/],
  [{ '--exec': 'no-script' }, 1, /is not executable. Run: chmod \+x/],
  [{ '--exec': 'a-folder' }, 1, /is not a file/],
  [{ '--token-file': 'gone' }, 1, /^The token cannot be read: ENOENT/],
  [{ '--token-file': 'operator' }, 1, /does not contain the token of a runner/],
  [{ '--state-dir': 'token' }, 1, noState('token', 'EEXIST: file already exists')],
  [{ '--state-dir': 'token/x' }, 1, noState('token/x', 'ENOTDIR: not a directory')],
  [
    {},
    2,
    /^The server rejected the token in .*token for PC 1: Who is that\? \(401\)\. The runner stops; put a valid token there and start it again\.\n$/,
  ],
])('%j ends it with exit code %i and a sentence', async (files, code, sentence) => {
  const other = Object.fromEntries(Object.entries(files).map(([flag, name]) => [flag, at(name)]));
  const ended = await muster(['runner', ...flags(other)], {});
  expect(ended.notes).toMatch(sentence);
  expect(ended.code).toBe(code);
});

it('refuses an invalid PC and an invalid URL', async () => {
  expect(await muster(['runner', ...flags({ '--pc': 'x' })], {})).toMatchObject({
    code: 1,
    notes: '--pc must be the id of a PC, a number.\n',
  });
  expect((await muster(['runner', ...flags({ '--server': 'x' })], {})).notes).toMatch(/^--server must be/);
});

it('keeps asking an unreachable server, and stops with exit code 0', async () => {
  const nowhere = createServer().listen(0, '127.0.0.1');
  await once(nowhere, 'listening');
  const { port } = nowhere.address() as AddressInfo;
  nowhere.close();
  await once(nowhere, 'close');
  const args = [...MUSTER, 'runner', ...flags({ '--server': `http://127.0.0.1:${port}` })];
  const runner = processOf(args, /The server does not answer; trying again: .*ECONNREFUSED/, {});
  await runner.start();
  expect(await runner.stop()).toBe(0);
});
