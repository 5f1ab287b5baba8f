import { expect, test } from 'vitest';
import { accountOf } from '../src/callbacks/account.ts';
import { readConfig } from '../src/config.ts';
import { millisecondsOf } from '../src/features/callbacks/durations.ts';

test('times are written as QStash writes them', () => {
  expect(['10s', '5m', '1h', '1d12h', '2d3h4m5s', '90', '0s'].map(millisecondsOf)).toEqual([
    ...[10_000, 300_000, 3_600_000, 129_600_000, 183_845_000, 90_000, 0],
  ]);
  expect(['', 'x', '10', '-1s', '1.5s', '1w', 's', '10s ', '1s5'].map(millisecondsOf)).toEqual([
    ...[null, null, 10_000, null, null, null, null, null, null],
  ]);
});

test('an incomplete QStash account is refused with the name of the missing setting', () => {
  const whole = {
    ...{
      QSTASH_URL: 'https://qstash.example',
      QSTASH_TOKEN: 'a',
      MUSTER_PUBLIC_URL: 'https://here.example/',
    },
    ...{ QSTASH_CURRENT_SIGNING_KEY: 'b', QSTASH_NEXT_SIGNING_KEY: 'c' },
  };
  expect(accountOf(readConfig({}))).toBeNull();
  expect(accountOf(readConfig({ MUSTER_PUBLIC_URL: 'https://here.example' }))).toBeNull();
  expect(accountOf(readConfig(whole))).toMatchObject({ publicUrl: 'https://here.example', token: 'a' });
  for (const name of Object.keys(whole))
    expect(() => accountOf(readConfig({ ...whole, [name]: '' }))).toThrow(
      name === 'MUSTER_PUBLIC_URL' ? 'MUSTER_PUBLIC_URL must be set' : 'QSTASH_URL must be set together',
    );
});
