import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type AgentAction, AllowList, systemctl } from '../src/index.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'muster-units-'));
const file = path.join(folder, 'units');
const { signal } = new AbortController();

const action = (kind: string, unitName: string): AgentAction => ({
  id: '1',
  hostId: '1',
  serviceId: '1',
  kind,
  attempt: 1,
  startedAt: '',
  leaseUntil: '',
  service: { id: '1', unitName, displayName: '', description: '' },
});
// An empty PATH: a unit that passes the checks fails with another message.
const execute = systemctl({ allowed: new AllowList(file), timeoutMs: 1_000, environment: { PATH: '' } });

it('allows units on the list, with or without .service, and reads the list anew each time', async () => {
  const list = new AllowList(path.join(folder, 'missing'));
  expect(await list.allows('nginx.service')).toBe(false);
  writeFileSync(path.join(folder, 'missing'), '# web\nnginx # the server\n\n  db.service\nx.timer\n');
  for (const unit of ['nginx', 'nginx.service', 'db', 'x.timer']) expect(await list.allows(unit)).toBe(true);
  for (const unit of ['ngin', 'nginx.socket', 'x', '', '# web', 'the server'])
    expect(await list.allows(unit)).toBe(false);
});

it.each([
  ['start', '--help', /^BAD_UNIT/],
  ['start', 'a b', /^BAD_UNIT/],
  ['start', '*', /^BAD_UNIT/],
  ['start', '', /^BAD_UNIT/],
  ['mask', 'nginx', /^UNKNOWN_KIND/],
  ['--version', 'nginx', /^UNKNOWN_KIND/],
  ['start', 'sshd.service', /^NOT_ALLOWED/],
  ['start', 'nginx.service', /^systemctl could not be run/],
])('%s %j is judged before anything runs', async (kind, unit, message) => {
  writeFileSync(file, 'nginx\n--help\n*\n');
  let hasBegun = false;
  const begins = () => {
    hasBegun = true;
  };
  const outcome = await execute(action(kind, unit), { signal, marks: {}, begins });
  expect(hasBegun).toBe(false);
  expect(outcome.status).toBe('failed');
  expect(outcome.message).toMatch(message);
});
