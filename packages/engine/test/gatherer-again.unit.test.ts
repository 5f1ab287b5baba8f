import { expect, test } from 'vitest';
import { Gatherer } from '../src/gatherer.ts';
import { BUSY, type Operation } from '../src/operation.ts';
import { Places } from '../src/places.ts';

test('G35: a call that finds its lane locked again and again is answered in the end, whatever arrives meanwhile', async () => {
  let tries = 0;
  const operation: Operation<string, string> = {
    name: 'test',
    key: (item) => item,
    run: async (_client, items) => ({
      answers: items.map((item) => {
        if (item !== 'locked') return item;
        tries += 1;
        return tries < 8 ? BUSY : item;
      }),
      transitions: [],
      wakes: [],
    }),
  };
  const gatherer = new Gatherer(operation, {
    writers: 1,
    alone: new Places(3),
    deadlineMs: 10_000,
    run: (op, items) => op.run({} as never, items),
  });
  let answered = false;
  const locked = gatherer.add('locked').then((answer) => {
    answered = true;
    return answer;
  });
  for (let n = 0; !answered && n < 10_000; n += 1) await gatherer.add(`other ${n}`);
  expect(await locked).toBe('locked');
});
