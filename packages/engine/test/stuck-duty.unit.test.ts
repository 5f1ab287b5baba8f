import { expect, test, vi } from 'vitest';
import { DatabaseClock } from '../src/database-clock.ts';
import { Housekeeping } from '../src/housekeeping.ts';

const nothing = { answers: [], transitions: [], wakes: [], count: 0, more: false };
const duty = (name: string) => ({ name, everyMs: 0, runOnce: async () => nothing });

// Found with a proxy that holds connections half-open: one transaction that never ended stopped all housekeeping for
// good.
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
    client: { query: async () => ({ rows: [{ leading: true, others: [], clock_ms: 0 }] }) },
    context: { isDistributed: false, now: () => new Date(), ready: () => undefined },
    clock: new DatabaseClock(),
    duties: [duty('stuck'), duty('well')],
    run: ({ name }) => {
      ran.push(name);
      if (name === 'well') turned();
      return name === 'stuck' ? new Promise(() => {}) : Promise.resolve(nothing);
    },
    counting: () => () => {},
    afterBeat: async () => {},
    onError: (error) => errors.push(error),
    patienceMs: 1,
  });
  housekeeping.start();
  await turn;
  await housekeeping.stop();
  expect(ran.slice(0, 2)).toEqual(['stuck', 'well']);
  expect(errors[0]).toEqual(new Error('The duty stuck did not finish within 1 ms.'));
});

// The sign of life used to wait for the duties: after 15 s of a long one the others stopped notifying this node.
test('G39: a duty that takes long does not make a node look dead', async () => {
  vi.useFakeTimers();
  try {
    let leads = 0;
    let done = () => {};
    const long = new Promise<typeof nothing>((resolve) => {
      done = () => resolve(nothing);
    });
    const housekeeping = new Housekeeping({
      schema: 'muster',
      nodeId: 'a',
      client: {
        query: async () => {
          leads += 1;
          return { rows: [{ leading: true, others: [], clock_ms: 0 }] };
        },
      },
      context: { isDistributed: false, now: () => new Date(), ready: () => undefined },
      clock: new DatabaseClock(),
      duties: [duty('long')],
      run: () => long,
      counting: () => () => {},
      afterBeat: async () => {},
      onError: () => {},
    });
    housekeeping.start();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(leads).toBeGreaterThanOrEqual(20);
    done();
    await housekeeping.stop();
  } finally {
    vi.useRealTimers();
  }
});
