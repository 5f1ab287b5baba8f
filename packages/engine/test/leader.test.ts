import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DatabaseClock } from '../src/database-clock.ts';
import { Housekeeping, type HousekeepingOptions } from '../src/housekeeping.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
let ran: string[] = [];
let errors: unknown[] = [];
beforeAll(async () => {
  t = await testEngine();
});
beforeEach(async () => {
  ran = [];
  errors = [];
  await t.db.query({ text: 'delete from muster.leaders' });
  await t.db.query({ text: 'delete from muster.nodes' });
});
afterAll(() => t.close());

const nothing = { answers: [], transitions: [], wakes: [], count: 0, more: false };
function node(nodeId: string, more: Partial<HousekeepingOptions> = {}): Housekeeping & { alive: number } {
  const housekeeping = new Housekeeping({
    schema: 'muster',
    nodeId,
    client: t.db,
    context: { isDistributed: false, now: t.clock, ready: () => undefined },
    clock: new DatabaseClock(),
    duties: [{ name: 'duty', everyMs: 0, runOnce: async () => nothing }],
    run: async (duty) => {
      ran.push(`${nodeId} ${duty.name}`);
      return nothing;
    },
    counting: () => (others) => {
      Object.assign(housekeeping, { alive: others.length + 1 });
    },
    afterBeat: async () => {},
    onError: (error) => errors.push(error),
    ...more,
  });
  return Object.assign(housekeeping, { alive: 0 });
}
/** Leadership uses real time; the test moves it by changing the stored times. */
const age = (seconds: number) =>
  t.db.query({
    text: `with n as (update muster.nodes set seen_at = seen_at - $1 * interval '1 second')
      update muster.leaders set expires_at = expires_at - $1 * interval '1 second'`,
    values: [seconds],
  });

test('G40: one node leads, and keeps the lead while it asks for it', async () => {
  const [a, b] = [node('a'), node('b')];
  expect(await a.lead()).toBe(true);
  expect(await b.lead()).toBe(false);
  await age(4);
  expect(await a.lead()).toBe(true);
  await age(4);
  expect(await b.lead()).toBe(false);
});

test('G40: a lead that is not renewed for five seconds goes to the next that asks', async () => {
  const [a, b] = [node('a'), node('b')];
  await a.lead();
  await age(6);
  expect(await b.lead()).toBe(true);
  expect(await a.lead()).toBe(false);
});

test('G40: of many nodes that ask at once one leads', async () => {
  const nodes = Array.from({ length: 8 }, (_, n) => node(`node ${n}`));
  const leads = await Promise.all(nodes.map((one) => one.lead()));
  expect(leads.filter(Boolean)).toHaveLength(1);
});

test('a node knows how many are alive, itself included; silent nodes drop out', async () => {
  const [a, b] = [node('a'), node('b')];
  await a.lead();
  expect(a.alive).toBe(1);
  await b.lead();
  expect(b.alive).toBe(2);
  await a.lead();
  expect(a.alive).toBe(2);
  await age(16);
  await a.lead();
  expect(a.alive).toBe(1);
});

test('G40: a node that stops gives up the lead', async () => {
  const [a, b] = [node('a'), node('b')];
  await a.lead();
  await b.lead();
  await a.stop();
  expect(await b.lead()).toBe(true);
  expect(b.alive).toBe(1);
});

test('G40: if leadership cannot be determined, the duties run all the same', async () => {
  const broken = { query: () => Promise.reject(new Error('no such table')) };
  const a = node('a', { client: broken });
  a.start();
  await a.stop();
  await a.lead().then((leading) => expect(leading).toBe(true));
  expect(errors.length).toBeGreaterThan(0);
});

test('G40: a failing duty is reported and does not keep the others from running', async () => {
  const a = node('a', {
    duties: ['first', 'second'].map((name) => ({ name, everyMs: 0, runOnce: async () => nothing })),
    run: async (duty) => {
      ran.push(duty.name);
      if (duty.name === 'first') throw new Error('first is broken');
      return nothing;
    },
  });
  await a.lead();
  a.start();
  await a.turn();
  await a.stop();
  expect(ran.slice(0, 2)).toEqual(['first', 'second']);
  expect(errors[0]).toMatchObject({ message: 'first is broken' });
});

test('G40 G68: a backlog of one duty goes on at once, in turn with the others, and into the next second', async () => {
  let time = 0;
  let more = true;
  const turns: string[][] = [];
  const turned = new Promise<void>((resolve) => {
    const a = node('a', {
      ticks: () => time,
      duties: ['mass', 'some', 'none'].map((name) => ({
        name,
        everyMs: 1_000,
        runOnce: async () => nothing,
      })),
      run: async ({ name }) => {
        ran.push(name);
        time += name === 'mass' ? 300 : 10;
        return { ...nothing, more: name === 'mass' ? more : name === 'some' && ran.length < 4 };
      },
      afterTurn: () => {
        turns.push(ran);
        ran = [];
        more = turns.length < 2;
        if (turns.length < 3) return;
        resolve();
        void a.stop();
      },
    });
    a.start();
  });
  await turned;
  // a second is over after the fourth of its rounds; the next turn begins with what was left, and what is due by then
  expect(turns[0]).toEqual(['mass', 'some', 'none', 'mass', 'some', 'mass', 'mass']);
  expect(turns[1]).toEqual(['mass', 'some', 'none', 'mass', 'some', 'mass', 'mass']);
  expect(turns[2]).toEqual(['mass', 'some', 'none', 'some']);
});
