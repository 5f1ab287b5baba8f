import { expect, test } from 'vitest';
import { readDatabaseUrl } from '../src/database/database-url.ts';

const one = 'postgres://me:hunter2@db.example.com:6000/muster?sslmode=require';

test('one host without target_session_attrs is for pg alone', () => {
  expect(readDatabaseUrl(one)).toEqual({ url: one, hosts: [] });
});

test.each([
  [
    'postgres://me:p%40ss@one:5432,two:5433/muster',
    [
      ['one', 5432],
      ['two', 5433],
    ],
    'postgres://me:p%40ss@one:5432/muster',
  ],
  [
    'postgresql://one,two:6000,[::1]:7/x?a=1&target_session_attrs=read-write&b=2',
    [
      ['one', 5432],
      ['two', 6000],
      ['::1', 7],
    ],
    'postgresql://one/x?a=1&b=2',
  ],
  ['postgres://me@one/x?target_session_attrs=primary', [['one', 5432]], 'postgres://me@one/x'],
  [
    'postgres://me:a@b@%2Frun%2Fpg,two/x',
    [
      ['/run/pg', 5432],
      ['two', 5432],
    ],
    'postgres://me:a@b@%2Frun%2Fpg/x',
  ],
])('%s: each host with its port, and a URL that pg understands', (text, hosts, url) => {
  expect(readDatabaseUrl(text)).toEqual({
    url,
    hosts: hosts.map(([host, port]) => ({ host, port })),
  });
});

test.each([
  ['mysql://me:hunter2@x', 'must be a URL like'],
  ['host=one,two password=hunter2', 'must be a URL like'],
  ['postgres://me:hunter2@one,,two/x', 'host:5432, separated by commas'],
  ['postgres://me:hunter2@one,two:/x', 'host:5432, separated by commas'],
  ['postgres://me:hunter2@one,two:99999/x', 'ports from 1 to 65535'],
  ['postgres://me:hunter2@one,%zz/x', 'host:5432, separated by commas'],
  ['postgres://me:hunter2@/x?host=one,two', 'not as parameters'],
  ['postgres://me:hunter2@/x?host=one&host=two,three', 'not as parameters'],
  ['postgres://me:hunter2@one,two/x?port=5555', 'not as parameters'],
  ['postgres://me:hunter2@one/x?host=two&target_session_attrs=read-write', 'not as parameters'],
  ['postgres://me:hunter2@one,two/x?target_session_attrs=any', 'must not have target_session_attrs=any'],
  [
    'postgres://me:hunter2@one,two/x?target_session_attrs=standby',
    'must not have target_session_attrs=standby',
  ],
  ['postgres://me:hunter2@one,two/x?target_session_atrs=any', 'unknown parameter target_session_atrs'],
  ['postgres://me:hunter2@one/x?targetServerType=primary', 'unknown parameter targetServerType'],
  ['postgres://me:p@hunter2/x@one/muster', 'write % as %25, / as %2F'],
  ['postgres://me:1/hunter2@one/muster', '@ as %40'],
  ['postgres://me:p@one?hunter2@two/muster', '@ as %40'],
  ['postgres://me:p@one#hunter2@two/muster', '@ as %40'],
  [
    'postgres://me:hunter2@one/x?target_session_attrs=hunter2',
    'no other target_session_attrs than read-write',
  ],
])('%s is refused, and its password is not repeated', (text, words) => {
  let message = '';
  try {
    readDatabaseUrl(text);
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toContain(words);
  expect(message).not.toContain('hunter2');
});
