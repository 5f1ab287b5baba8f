import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { Distribution } from '../src/distributed/distribution.ts';
import { createEngine, type Database, type Engine, openPostgres, type Query } from '../src/index.ts';
import { commands, type Table, table } from '../testing/model/game.ts';
import { OPENINGS } from '../testing/model/openings.ts';
import { DEPTH_LIMIT } from '../testing/model/play.ts';

// The statements of a distributed database, each of one tenant, on a plain server: they do the same.
/** MUSTER_TEST_RUNS plays more of them. */
const RUNS = Number(process.env.MUSTER_TEST_RUNS ?? 30);

let t: Table;
let db: Database;
let engine: Engine;
const sent = new Map<string, string>();

beforeAll(async () => {
  t = await table();
  db = listening(openPostgres({ url: t.url as string, isDistributed: true, deadlineMs: 120_000 }));
  engine = createEngine(db, { clock: t.clock, depthLimit: DEPTH_LIMIT });
});
afterAll(async () => {
  await engine.stop();
  await db.close();
  await t.close();
});

/** Records the texts of the gathered statements. */
function listening(opened: Database): Database {
  return {
    ...opened,
    gathered: {
      ...opened.gathered,
      query(query: Query) {
        if (query.name) sent.set(query.name, query.text);
        return opened.gathered.query(query);
      },
    },
  };
}

test('G1 G3 G4 G5 G9 G10 G13 G15 G16 G20 G44: statements of one tenant do the same as those of many', {
  timeout: 900_000,
}, async () => {
  for (const list of Object.values(OPENINGS)) await t.play(list, engine);
  await fc.assert(
    fc.asyncProperty(commands, (list) => t.play(list, engine)),
    { numRuns: RUNS },
  );
});

test('calls of several tenants at once never share a statement', async () => {
  const lanes = [];
  for (const tenantId of [7, 8, 9])
    lanes.push({ tenantId, laneId: await engine.ensureLane(db, tenantId, 'test', 'a') });
  const many = lanes.flatMap((lane) => [1, 2, 3].map(() => ({ ...lane, kind: 'x' })));
  await engine.enqueueMany(db, many);
  await Promise.all(many.map((action) => engine.enqueue(db, action)));
  for (let round = 1; round <= 6; round += 1) {
    const by = { channel: 'any', worker: 'w', leaseMs: 60_000 };
    const claimed = await Promise.all(lanes.map((lane) => engine.claim(db, { ...lane, ...by })));
    expect(claimed.map((action) => action?.tenantId)).toEqual([7, 8, 9]);
    const reports = claimed.map((action) => ({
      ...{ tenantId: action?.tenantId as number, actionId: action?.id as string, attempt: 1 },
      status: 'succeeded' as const,
    }));
    expect(
      (await Promise.all(reports.map((report) => engine.report(db, report)))).every(
        (answer) => answer.accepted,
      ),
    ).toBe(true);
  }
});

test('every gathered statement reads and changes only rows of the given tenant', async () => {
  const hot = [
    'muster_claim',
    'muster_report',
    'muster_report_success',
    'muster_extend',
    'muster_cancel',
    'muster_claim_slots',
    'muster_claim_pool',
  ];
  expect([...sent.keys()]).toEqual(expect.arrayContaining(hot));
  const distribution = new Distribution();
  await distribution.read(t.db);
  expect(
    [...sent].flatMap(([name, text]) =>
      loose(distribution.pinned(text, '$99')).map((table) => `${name}: ${table}`),
    ),
  ).toEqual([]);
});

/** Tables in it that are not compared with the tenant. */
function loose(text: string): string[] {
  const tables = text.matchAll(
    /(?:from|join|update|using)\s+(muster\.(?:lanes|pending|actions|endings|events|runners|idempotency_keys|pauses))\s+(\w+)/g,
  );
  return [...tables].flatMap(([, table, row]) =>
    new RegExp(`\\b${row}\\.tenant_id = \\$99`).test(text) ? [] : [`${table} ${row}`],
  );
}
