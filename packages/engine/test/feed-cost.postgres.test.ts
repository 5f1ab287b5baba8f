import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FeedPage, Queryable } from '../src/index.ts';
import { type TestEngine, testEngine } from '../testing/index.ts';

let t: TestEngine;
beforeAll(async () => {
  t = await testEngine();
  // a month of history, as a long-lived installation has: each day is a table with its own index
  await t.db.query({ text: `select muster.ensure_event_days('2026-02-01', '2026-03-03')` });
  await t.db.query({ text: 'analyze muster.events' });
});
afterAll(() => t.close());

/** Straight into the table: only reading is measured here. `xid` is an old number, in their order. */
async function add(events: { from: number; to: number; tenantId?: number; xid?: string }) {
  const { from, to, tenantId = 1, xid = 'n / 200' } = events;
  await t.db.query({
    text: `insert into muster.events (tenant_id, event_id, xid, action_id, lane_id, at, type, attempt)
      select ${tenantId}, n, (${xid})::text::xid8, n, 1, timestamptz '2026-02-01' + n * interval '4 seconds', 1, 0
      from generate_series(${from}, ${to}) n`,
  });
}

const forget = async () => {
  await t.db.query({ text: 'truncate muster.events' });
  await t.db.query({ text: 'analyze muster.events, muster.endings' });
};

/**
 * A page of the feed, and how many pages of tables and indexes it touched: counted by the database, no clock is
 * involved.
 */
async function touched(options: {
  cursor: string;
  limit: number;
  tenantId?: number;
}): Promise<FeedPage & { pages: number }> {
  let pages = 0;
  const client: Queryable = {
    async query(config) {
      const { rows } = await t.db.query({
        text: `explain (analyze, buffers, timing off, format json) ${config.text}`,
        values: config.values,
      });
      const said = rows[0]['QUERY PLAN'];
      const plan = (typeof said === 'string' ? JSON.parse(said) : said)[0].Plan;
      pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      return t.db.query({ text: config.text, values: config.values });
    },
  };
  // the smallest of several: one-time reads, of catalogues for instance, are not meant
  const read = async () => {
    pages = 0;
    return { ...(await t.engine.feed.read(client, options)), pages };
  };
  const reads = [await read(), await read(), await read()];
  return reads.reduce((least, one) => (one.pages < least.pages ? one : least));
}

const start = () => t.engine.feed.cursor(t.db, 'start');

/** What the planner believes: the tables are still empty, or these values. */
const BELIEFS = {
  'as it is': 'analyze muster.events, muster.endings',
  'as it was when it was empty': null,
  'that there is next to nothing': `update pg_class set reltuples = 0, relpages = 1 where (relname like 'events%' or relname = 'endings') and relkind = 'r'`,
  'that all rows are in few pages': `update pg_class set reltuples = 100, relpages = 10000 where (relname like 'events%' or relname = 'endings') and relkind = 'r'`,
};

test.each(Object.entries(BELIEFS))(
  'G71: a page costs as much behind 4,000 as behind 40,000 events, the planner believing %s',
  async (_what, belief) => {
    const read = async () => {
      if (belief) await t.db.query({ text: belief });
      return touched({ cursor: await start(), limit: 100 });
    };
    await add({ from: 1, to: 4_000 });
    const near = await read();
    await add({ from: 4_001, to: 40_000 });
    const far = await read();
    await forget();
    expect(far.events.map((event) => event.eventId)).toEqual(near.events.map((event) => event.eventId));
    expect(far.events).toHaveLength(100);
    // a bad plan sorts it all, 613 pages; the two indexes have a page more here or there
    expect(far.pages).toBeLessThan(2 * near.pages + 60);
  },
);

/** The same with endings, which are two events each, beside a few rows of `events`. */
test.each(Object.entries(BELIEFS))(
  'G71: a page costs no more behind endings that are events, the planner believing %s',
  async (_what, belief) => {
    const end = (from: number, to: number) =>
      t.db.query({
        text: `insert into muster.endings (tenant_id, action_id, state, attempt, reason, ended_at, event_id, xid, lane_id, worker, next_action, next_attempt)
          select 1, n, 'succeeded', 1, 'SUCCEEDED', timestamptz '2026-02-01' + n * interval '4 seconds', 2 * n - 1, (n / 200)::text::xid8, 1, 'w', n + 1, 1
          from generate_series(${from}, ${to}) n`,
      });
    const read = async () => {
      if (belief) await t.db.query({ text: belief });
      return touched({ cursor: await start(), limit: 100 });
    };
    await add({ from: 1, to: 3, xid: '1' });
    await end(1, 4_000);
    const near = await read();
    await end(4_001, 40_000);
    const far = await read();
    await t.db.query({ text: 'truncate muster.endings' });
    await forget();
    expect(far.events).toEqual(near.events);
    expect(far.events).toHaveLength(100);
    expect(far.pages).toBeLessThan(near.pages + 60);
  },
);

test('G71: nor does one in the middle of a transaction of 20,000 events', async () => {
  const page = async () => {
    const { cursor } = await t.engine.feed.read(t.db, { cursor: await start(), limit: 500 });
    return touched({ cursor, limit: 100 });
  };
  await add({ from: 1, to: 1_000, xid: '7' });
  const small = await page();
  await add({ from: 1_001, to: 20_000, xid: '7' });
  const large = await page();
  await forget();
  expect(large.events.map((event) => Number(event.eventId))).toEqual(
    Array.from({ length: 100 }, (_, n) => n + 501),
  );
  expect(large.events).toEqual(small.events);
  expect(large.pages).toBeLessThan(small.pages + 60);
});

test('G71: a reader of one tenant passes the others step by step, and finds its own', async () => {
  const step = async () => touched({ cursor: await start(), limit: 10, tenantId: 2 });
  await add({ from: 1, to: 8_000 });
  const near = await step();
  await add({ from: 8_001, to: 20_000 });
  await add({ from: 20_001, to: 20_015, tenantId: 2 });
  const far = await step();
  expect(far).toMatchObject({ events: [], more: true });
  expect(far.pages).toBeLessThan(near.pages + 60);
  const found: string[] = [];
  let page: FeedPage = far;
  while (page.more) {
    page = await t.engine.feed.read(t.db, { cursor: page.cursor, limit: 10, tenantId: 2 });
    found.push(...page.events.map((event) => event.eventId));
  }
  await forget();
  expect(found).toEqual(Array.from({ length: 15 }, (_, n) => String(20_001 + n)));
});
