import type { Database } from '@muster/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/**
 * Pages of the database that the first page of each list touches, counted by the database itself, with few actions and with
 * many (issue 14). On the server alone: the plans of PGlite are the same, and the statements are shown there by others.
 */
interface Statement {
  readonly text: string;
  readonly values?: unknown[];
}
let t: TestServer;
let heard: Statement[] | null = null;

/** Notes what is asked while somebody listens. */
function listened(db: Database): Database {
  const note = (statement: Statement) => void heard?.push(statement);
  const noting = <T extends object>(to: T): T =>
    new Proxy(to, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (name === 'reserved') return noting(value as object);
        if (name === 'query')
          return (statement: Statement) => {
            note(statement);
            return (target as unknown as Database).query(statement as never);
          };
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return noting(db);
}

beforeAll(async () => {
  t = await testServer({ clock: true, database: listened });
});
afterAll(() => t.close());

const LISTS = [
  ['GET', '/api/actions'],
  ['GET', '/api/actions?state=pending'],
  ['GET', '/api/actions?state=unfinished'],
  ['GET', '/api/actions?state=failed'],
  ['GET', '/api/actions?state=finished'],
  ['GET', '/api/actions?lane=printer'],
  ['GET', '/api/actions?state=failed&error=space&limit=10'],
  ['GET', '/api/counts'],
  ['GET', '/api/devices'],
  ['GET', '/api/hosts'],
  ['GET', '/api/hosts/load'],
  ['GET', '/api/pcs'],
  ['GET', '/api/pcs/running'],
  ['GET', '/api/tasks'],
  ['GET', '/api/batches'],
  ['GET', '/api/workflows'],
  ['GET', '/api/orders'],
  ['GET', '/api/bots'],
  ['GET', '/api/tokens'],
  ['GET', '/api/audit'],
  ['GET', '/api/stats'],
  ['GET', '/api/search?q=printer'],
] as const;

async function pagesOf(method: string, path: string): Promise<number> {
  heard = [];
  const { status } = await t.send(method, path, undefined);
  const asked = heard;
  heard = null;
  expect([path, status]).toEqual([path, 200]);
  let pages = 0;
  for (const { text, values } of asked.filter((one) => /^\s*(select|with)\b/i.test(one.text))) {
    const { rows } = await t.engine.db.query({
      text: `explain (analyze, buffers, timing off, format json) ${text}`,
      ...(values ? { values } : {}),
    });
    const { Plan } = rows[0]['QUERY PLAN'][0];
    pages += Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
  }
  return pages;
}

async function pagesOfAll(): Promise<Map<string, number>> {
  await t.engine.db.query({ text: 'vacuum analyze' });
  const pages = new Map<string, number>();
  for (const [method, path] of LISTS) pages.set(path, await pagesOf(method, path));
  return pages;
}

test('G47: the first page of every list costs no more with 40,000 actions than with 3,000', async () => {
  const { db } = t.engine;
  const lane = (await t.post('/api/lanes/printer/actions', { kind: 'X' })).body;
  const { laneId } = (await t.engine.get(db, 1, lane.id)) as { laneId: string };
  // straight into the tables: only the reads count here
  const fill = async (from: number, to: number) => {
    const series = `generate_series(${from}, ${to}) n`;
    await db.query({
      text: `insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, tags, created_at,
          max_attempts, backoff_ms, backoff_max_ms, head_of_line, on_lease_end)
        select 1, 1000 + n, ${laneId} + 1 + n % 998, 'generic', 'K', '{}', 1, array['t' || n % 10], now(), 3, 0, 0, 'skip', 'retry' from ${series}`,
    });
    await db.query({
      text: `insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
        select 1, 1000 + n, ${laneId} + 1 + n % 998, 1, 'generic', 1, 1000 + n from ${series} where n % 2 = 0`,
    });
    await db.query({
      text: `insert into muster.endings (tenant_id, action_id, state, attempt, reason, error, ended_at)
        select 1, 1000 + n, 'failed', 1, 'FAILED', 'no space', now() from ${series} where n % 2 = 1`,
    });
  };
  await db.query({
    text: `insert into muster.lanes (tenant_id, lane_id) select 1, ${laneId} + n from generate_series(1, 999) n`,
  });
  await fill(1, 3_000);
  const few = await pagesOfAll();
  await fill(3_001, 40_000);
  const many = await pagesOfAll();
  const dearer = [...many].filter(([path, pages]) => pages > (few.get(path) ?? 0) * 1.5 + 60);
  expect(dearer.map(([path, pages]) => [path, few.get(path), pages])).toEqual([]);
});
