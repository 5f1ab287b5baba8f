import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { createEngine, type Database, type Engine, openPostgres, type Query } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

/**
 * Two nodes, `near` and `far`, and a parked claim while something between them, or between them and the database,
 * breaks. Long enough that a test only waits for it if a wake-up is missing.
 */
const WAIT_MS = 30_000;
let t: TestEngine;
/** Sees all traffic of the nodes and stops what it refuses. */
let admin: pg.Client;
let role: string;
const nodes: { near?: Node; far?: Node } = {};

interface Node {
  readonly db: Database;
  readonly engine: Engine;
  readonly id: string;
  /** Called around each gathered statement; what they throw is what the node gets. */
  before: (query: Query) => void;
  after: (query: Query) => void;
  looked: () => void;
}

/** A role of the node's own: without login no new session can be opened, and existing ones stay. */
const login = (may: boolean) => admin.query(`alter role ${role} ${may ? 'login' : 'nologin'}`);

async function startNode(url: string): Promise<Node> {
  const inner = openPostgres({ isDistributed: inject('isDistributed') ?? false, url });
  const db: Database = {
    ...inner,
    gathered: {
      ...inner.gathered,
      async query(query: Query) {
        node.before(query);
        const answer = await inner.gathered.query(query);
        node.after(query);
        return answer;
      },
    },
  };
  const engine = createEngine(db, {
    clock: t.clock,
    observer: {
      batch(operation) {
        if (operation.startsWith('claim')) node.looked();
      },
    },
  });
  const known = await nodeIds();
  const node: Node = { db, engine, id: '', before: () => {}, after: () => {}, looked: () => {} };
  await engine.start();
  const id = (await nodeIds()).find((one) => !known.includes(one)) as string;
  return Object.assign(node, { id });
}

const nodeIds = async (): Promise<string[]> =>
  (await admin.query('select node_id from muster.nodes')).rows.map((row) => row.node_id);

beforeAll(async () => {
  t = await testEngine();
  const url = new URL(t.url as string);
  admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  role = `muster_node_${randomBytes(6).toString('hex')}`;
  await admin.query(`create role ${role} superuser login password 'muster'`);
  nodes.near = await startNode(url.href);
  url.username = role;
  url.password = 'muster';
  nodes.far = await startNode(url.href);
});
afterEach(() => {
  for (const node of [near(), far()]) Object.assign(node, { before: () => {}, after: () => {} });
});
afterAll(async () => {
  for (const node of [near(), far()]) {
    await node.engine.stop();
    await node.db.close();
  }
  await admin.query(`drop role ${role}`);
  await admin.end();
  await t.close();
});
const near = () => nodes.near as Node;
const far = () => nodes.far as Node;

/** The claim has looked, found nothing, and waits. */
async function park<T>(node: Node, claim: () => Promise<T>): Promise<{ claim: Promise<T> }> {
  const looked = new Promise<void>((resolve) => {
    node.looked = resolve;
  });
  const parked = { claim: claim() };
  await looked;
  node.looked = () => {};
  return parked;
}
const claimLane = (node: Node, laneId: string) =>
  park(node, () =>
    node.engine.claim(node.db, {
      ...{ tenantId: 1, laneId, channel: 'any', worker: 'w', leaseMs: 60_000, waitMs: WAIT_MS },
    }),
  );
const claimSlots = (node: Node, runnerId: string) =>
  park(node, () =>
    node.engine.claimSlots(node.db, {
      ...{ tenantId: 1, runnerId, channel: 'any', worker: 'pc', leaseMs: 60_000, max: 9, waitMs: WAIT_MS },
    }),
  );
const enqueue = (node: Node, laneId: string) =>
  node.engine.enqueue(node.db, { tenantId: 1, laneId, kind: 'test' });

const listeners = async (whose: string): Promise<number[]> =>
  (
    await admin.query(
      `select pid from pg_stat_activity where application_name = 'muster listener' and datname = current_database() and usename = $1`,
      [whose],
    )
  ).rows.map((row) => row.pid);

async function cutListener(): Promise<void> {
  for (const pid of await listeners(role)) await admin.query('select pg_terminate_backend($1, 10000)', [pid]);
}

/** That node has looked which nodes are alive, and knows the answer. */
async function counted(node: Node): Promise<void> {
  const seen = async () =>
    (await admin.query('select seen_at::text from muster.nodes where node_id = $1', [node.id])).rows[0]
      ?.seen_at;
  for (let turns = 0; turns < 2; turns += 1) {
    const before = await seen();
    while ((await seen()) === before) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a listener', () => {
  test('G39: a claim parked while it is cut gets what was enqueued meanwhile at another node', async () => {
    const { laneId } = await t.lane();
    const { claim } = await claimLane(far(), laneId);
    await login(false);
    await cutListener();
    const { id } = await enqueue(near(), laneId);
    await login(true);
    expect(await claim).toMatchObject({ id });
  });
});

describe('an answer that is lost', () => {
  const lose = (node: Node, statement: string) => {
    let lost = false;
    node.after = ({ name }) => {
      if (name !== statement || lost) return;
      lost = true;
      throw new Error('Connection terminated unexpectedly');
    };
  };

  test.each(['near', 'far'] as const)('G39: to an enqueue wakes waiters for the lane (%s)', async (where) => {
    const { laneId } = await t.lane();
    const { claim } = await claimLane(nodes[where] as Node, laneId);
    lose(near(), 'muster_enqueue_plain');
    await expect(enqueue(near(), laneId)).rejects.toThrow('Connection terminated');
    expect(await claim).toMatchObject({ laneId });
  });

  test('G39: to an enqueue wakes the runner of the lane', async () => {
    const lane = await t.lane();
    const runnerId = await t.engine.createRunner(t.db, 1, 5);
    await t.engine.assignRunner(t.db, lane, runnerId);
    const { claim } = await claimSlots(near(), runnerId);
    lose(near(), 'muster_enqueue_plain');
    await expect(enqueue(near(), lane.laneId)).rejects.toThrow('Connection terminated');
    expect(await claim).toHaveLength(1);
  });

  test('G39: to a report wakes waiters behind it', async () => {
    const { laneId } = await t.lane();
    const first = await t.enqueue(laneId);
    const second = await t.enqueue(laneId);
    await t.claim(laneId);
    const { claim } = await claimLane(near(), laneId);
    lose(near(), 'muster_report_success');
    const report = { tenantId: 1, actionId: first, attempt: 1, status: 'succeeded' as const };
    await expect(near().engine.report(near().db, report)).rejects.toThrow('Connection terminated');
    expect(await claim).toMatchObject({ id: second });
  });

  test('G39: is not looked for if nothing was sent, nor if the server has refused it', async () => {
    const { laneId } = await t.lane();
    const asked: string[] = [];
    for (const error of [
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
      new pg.DatabaseError('refused', 0, 'error'),
    ]) {
      Object.assign(error, error instanceof pg.DatabaseError ? { code: '42501', severity: 'ERROR' } : {});
      near().before = ({ name }) => {
        if (name === 'muster_find_touched') asked.push(error.message);
        if (name === 'muster_enqueue_plain') throw error;
      };
      await expect(enqueue(near(), laneId)).rejects.toThrow(error.message);
    }
    near().before = ({ name }) => void (name === 'muster_find_touched' && asked.push('late'));
    await enqueue(near(), laneId);
    expect(asked).toEqual([]);
  });

  test('G39: notifications for other nodes that could not be sent are sent again', async () => {
    const { laneId } = await t.lane();
    const { claim } = await claimLane(far(), laneId);
    let failed = 0;
    near().before = ({ text, values }) => {
      if (!text.includes('pg_notify') || !String(values?.[1]).startsWith('from') || failed > 1) return;
      failed += 1;
      throw new Error('Connection terminated unexpectedly');
    };
    const { id } = await enqueue(near(), laneId);
    expect(await claim).toMatchObject({ id });
    expect(failed).toBe(2);
  });
});

describe('a node', () => {
  test('G39: that others counted dead looks again when it is back', async () => {
    const { laneId } = await t.lane();
    await admin.query(`
      create function public.no_sign_of_life() returns trigger language plpgsql as $$
        begin if new.node_id = '${far().id}' then raise exception 'It stands still.'; end if; return new; end $$;
      create trigger stands_still before insert on muster.nodes for each row execute function public.no_sign_of_life()`);
    await admin.query(`update muster.nodes set seen_at = now() - interval '20 seconds' where node_id = $1`, [
      far().id,
    ]);
    await counted(near());
    const { claim } = await claimLane(far(), laneId);
    const { id } = await enqueue(near(), laneId);
    await admin.query(`drop trigger stands_still on muster.nodes; drop function public.no_sign_of_life`);
    expect(await claim).toMatchObject({ id });
    // and it is announced again
    const next = await t.lane();
    const parked = await claimLane(far(), next.laneId);
    expect((await enqueue(near(), next.laneId)).id).toBe((await parked.claim)?.id);
  });

  test('G39: looks again when another one is gone, which may have died before it notified', async () => {
    const { laneId } = await t.lane();
    await admin.query(
      `insert into muster.nodes (node_id, seen_at) values ('ghost', now() + interval '1 hour')`,
    );
    await counted(far());
    const { claim } = await claimLane(far(), laneId);
    const id = await t.enqueue(laneId); // by an engine that was never started and notifies no node
    await admin.query(`delete from muster.nodes where node_id = 'ghost'`);
    expect(await claim).toMatchObject({ id });
  });
});
