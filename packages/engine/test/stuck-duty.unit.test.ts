import { expect, test } from 'vitest';
import { DatabaseClock } from '../src/database-clock.ts';
import { Housekeeping } from '../src/housekeeping.ts';

const nothing = { answers: [], transitions: [], wakes: [], count: 0, more: false };
const duty = (name: string) => ({ name, everyMs: 0, runOnce: async () => nothing });

// Found with a proxy that holds connections half-open: one transaction that never ended stopped all housekeeping for good.
test('G40: a duty that never ends keeps neither the others nor the next turn waiting', async () => {
  const ran: string[] = [];
  const errors: unknown[] = [];
  let turned = () => {};
  const turn = new Promise<void>((resolve) => {
    turned = resolve;
  });
  const housekeeping = new Housekeeping({
    schema: 'muster',
    nodeId: 'a',
    client: { query: async () => ({ rows: [{ leading: true, alive: 1, clock_ms: 0 }] }) },
    context: { now: () => new Date(), ready: () => undefined },
    clock: new DatabaseClock(),
    duties: [duty('stuck'), duty('well')],
    run: ({ name }) => {
      ran.push(name);
      return name === 'stuck' ? new Promise(() => {}) : Promise.resolve(nothing);
    },
    onNodes: () => {},
    afterTurn: async () => turned(),
    onError: (error) => errors.push(error),
    patienceMs: 1,
  });
  housekeeping.start();
  await turn;
  await housekeeping.stop();
  expect(ran).toEqual(['stuck', 'well']);
  expect(errors).toEqual([new Error('The duty stuck was not done within 1 ms.')]);
});
