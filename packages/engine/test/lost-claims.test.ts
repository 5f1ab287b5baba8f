import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type ClaimedAction,
  createEngine,
  type Database,
  type Engine,
  type Query,
  type Queryable,
  type Transaction,
} from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** A node that loses the answer to the statement, or to the commit, that the test names. Its caller gets an error. */
let t: TestEngine;
let node: Engine;
let lost: string | null = null;

function lose(name: string | undefined): void {
  if (lost === null || name !== lost) return;
  lost = null;
  throw new Error('Connection terminated unexpectedly');
}

function losing(db: Database): Database {
  const gathered: Database['gathered'] = {
    ...db.gathered,
    async query(query: Query) {
      const answer = await db.gathered.query(query);
      lose(query.name);
      return answer;
    },
    async transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T> {
      const inDoubt: (() => void)[] = [];
      const result = await db.gathered.transaction((tx) =>
        run({ ...tx, ifInDoubt: (then) => void inDoubt.push(then) }),
      );
      try {
        lose('commit');
      } catch (error) {
        for (const then of inDoubt) then();
        throw error;
      }
      return result;
    },
  };
  return { ...db, gathered };
}

beforeAll(async () => {
  t = await testEngine();
  node = createEngine(losing(t.db), { clock: t.clock });
});
beforeEach(() => {
  lost = null;
});
afterAll(async () => {
  await node.stop();
  await t.close();
});

const claim = (laneId: string, client: Queryable = node.db) =>
  node.claim(client, { tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 600_000 });
const isFree = (id: string) => expect.poll(() => t.state(id)).toBe('pending');

test('G64: an action claimed by a statement whose answer was lost goes back', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  lost = 'muster_claim';
  await expect(claim(laneId)).rejects.toThrow('Connection terminated');
  await isFree(id);
  expect((await t.eventTypes(id)).slice(0, 3)).toEqual(['CREATED', 'SENT', 'RELEASED']);
  expect(await t.claim(laneId, 'another')).toMatchObject({ id, attempt: 2 });
});

test('G64: so does one taken by a transaction whose commit was not answered', async () => {
  const { laneId } = await t.lane();
  const id = await t.enqueue(laneId);
  const runnerId = await node.createRunner(t.db, 1, null);
  const supplied = node.supplied<string, ClaimedAction | null>({
    name: 'supplied',
    runnerOf: () => ({ tenantId: 1, runnerId }),
    supply: (tx, lanes) => Promise.all(lanes.map((lane) => claim(lane, tx))),
    actionsOf: (action) => (action ? [action] : []),
    giveBack: async () => {},
  });
  lost = 'commit';
  await expect(supplied(laneId)).rejects.toThrow('Connection terminated');
  await isFree(id);
});

test('G64: so does the next action of a report', async () => {
  const { laneId } = await t.lane();
  const first = await t.enqueue(laneId);
  const second = await t.enqueue(laneId);
  await t.claim(laneId, 'w');
  lost = 'muster_report_success';
  const next = { channel: 'any', worker: 'w', leaseMs: 600_000 };
  const said = {
    tenantId: 1,
    actionId: first,
    attempt: 1,
    status: 'succeeded',
    channel: 'any',
    next,
  } as const;
  await expect(node.report(node.db, said)).rejects.toThrow('Connection terminated');
  await isFree(second);
  expect(await t.state(first)).toBe('succeeded');
});

test('G64: so does an action that a runner took', async () => {
  const { laneId } = await t.lane();
  const runnerId = await node.createRunner(t.db, 1, null);
  await node.assignRunner(t.db, { tenantId: 1, laneId }, runnerId);
  const id = await t.enqueue(laneId);
  lost = 'muster_claim_slots';
  const asked = { tenantId: 1, runnerId, channel: 'any', worker: 'w', leaseMs: 600_000, max: 5 };
  await expect(node.claimSlots(node.db, asked)).rejects.toThrow('Connection terminated');
  await isFree(id);
});

test('G64: an action that its worker has claimed again, or that another worker holds, is left alone', async () => {
  const [mine, other] = [await t.lane(), await t.lane()];
  const [id, theirs] = [await t.enqueue(mine.laneId), await t.enqueue(other.laneId)];
  await t.claim(other.laneId, 'another', 600_000);
  let found = () => {};
  const looked = new Promise<void>((resolve) => {
    found = resolve;
  });
  const later = createEngine(
    {
      ...losing(t.db),
      gathered: {
        ...losing(t.db).gathered,
        // the look for lost claims waits until its worker has claimed again
        async query(query: Query) {
          if (query.name === 'muster_find_lost_claims') {
            await t.claim(mine.laneId, 'w');
            const answer = await t.db.gathered.query(query);
            found();
            return answer;
          }
          const answer = await t.db.gathered.query(query);
          lose(query.name);
          return answer;
        },
      },
    },
    { clock: t.clock },
  );
  lost = 'muster_claim';
  const ask = { tenantId: 1, laneId: mine.laneId, channel: 'any', worker: 'w', leaseMs: 600_000 };
  await expect(later.claim(later.db, ask)).rejects.toThrow('Connection terminated');
  await looked;
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve)); // what it found is given back
  await later.stop();
  expect(await t.state(id)).toBe('claimed');
  expect(await t.state(theirs)).toBe('claimed');
});
