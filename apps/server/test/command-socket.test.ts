import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askServer, findServer } from '../src/command-socket/client.ts';
import { listenForCommands } from '../src/command-socket/server.ts';
import type { Out } from '../src/commands/command.ts';
import { readConfig } from '../src/config.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

/** The socket through which the command line asks a server on the embedded database. */
const folder = mkdtempSync(path.join(tmpdir(), 'muster-socket-'));
const file = path.join(folder, 'control.sock');
const logged: unknown[] = [];
const note = (...what: unknown[]) => void logged.push(what);
let t: TestServer;
let listening: { stop(): Promise<void> };

beforeAll(async () => {
  t = await testServer();
  await t.engine.db.query({
    text: `insert into muster.tokens (tenant_id, kind, name, sha256) select 1, 'worker', repeat('long name ', 20) || n, sha256(n::text::bytea)
      from generate_series(1, 5000) n`,
  });
  const log = { debug: note, error: note, info: note, warn: note } as never;
  listening = await listenForCommands(file, { config: readConfig({}), db: t.engine.db }, log);
});
afterAll(async () => {
  await listening.stop();
  await t.close();
  rmSync(folder, { recursive: true });
});

async function ask(command: string): Promise<string[]> {
  const lines: string[] = [];
  const out: Out = {
    say: (line) => void lines.push(line),
    note: () => {},
    data: async (text) => void lines.push(text),
  };
  const socket = await findServer(file);
  if (!socket) throw new Error('There is no socket.');
  expect(await askServer(socket, { command, args: {} }, out)).toBe(0);
  socket.destroy();
  return lines;
}

test.each(['token list', 'tenant list', 'export'])(
  'a client that leaves in the middle of "%s" does no harm',
  async (command) => {
    for (let n = 0; n < 15; n += 1) {
      const socket = connect(file);
      await once(socket, 'connect');
      socket.write(`${JSON.stringify({ command, args: {} })}\n`);
      // it has read part of the answer, or nothing
      if (n % 3 > 0) await once(socket, 'readable');
      if (n % 3 > 1) socket.read();
      // or it leaves when the server is done and the answer is still on its way
      if (n % 2 > 0) await pause(30);
      socket.destroy();
    }
    expect((await ask('tenant list')).join('\n')).toContain('default');
    expect(logged).toEqual([]);
  },
);

test('if the server ends before it is done, the client says so in a sentence', async () => {
  const socket = await findServer(file);
  if (!socket) throw new Error('There is no socket.');
  const asking = askServer(
    socket,
    { command: 'token list', args: {} },
    { say() {}, note() {}, async data() {} },
  );
  socket.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  await expect(asking).rejects.toThrow('The server stopped before the command was done.');
});

test('a long answer leaves no listeners behind', async () => {
  const warnings: string[] = [];
  const warned = (warning: Error) => void warnings.push(warning.message);
  process.on('warning', warned);
  expect((await ask('export')).length).toBeGreaterThan(0);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});
