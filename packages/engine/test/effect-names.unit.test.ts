import { expect, test } from 'vitest';
import { ANSWER, Effects } from '../src/effects.ts';
import type { Queryable } from '../src/index.ts';

test('a statement with effects has its own name for each set of them, which is never cut off', async () => {
  const effects = new Effects();
  const channels = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  for (const channel of channels)
    effects.add({
      name: `what_${channel}_does_to_it`,
      channels: [channel],
      sql: (own) => ({ steps: `${own('x')} as (select 1)` }),
    });
  const ask = effects.carry({
    name: 'muster_report_succeed_failed',
    text: () => `${ANSWER} select 1`,
    transitions: 'select 1',
  });
  const names = new Set<string>();
  const client = {
    query: async ({ name = '' }: { name?: string }) => {
      names.add(name);
      return { rows: [] };
    },
  } as unknown as Queryable;
  for (const one of channels) for (const other of channels) await ask(client, [one, other], []);
  await ask(client, null, []);
  await ask(client, [], []);
  expect(names.size).toBe((channels.length * (channels.length + 1)) / 2 + 2);
  for (const name of names) expect(name.length).toBeLessThanOrEqual(63);
});
