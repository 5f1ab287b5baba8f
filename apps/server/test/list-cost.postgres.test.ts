import { api, type Endpoint } from '@muster/contracts';
import type { Database } from '@muster/engine';
import { settledUpTo } from '@muster/engine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../testing/test-server.ts';

/**
 * Pages of the database that the first page of each list touches, as counted by the database, with few actions and with many
 * (issue 14). Only on a server: the plans of PGlite are the same, and other suites run the statements there.
 */
interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}
let t: TestServer;
let heard: Statement[] | null = null;

/** Records statements while it is switched on. */
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
  ['GET', '/api/actions?internal=false'],
  ['GET', '/api/actions?internal=false&state=failed'],
  ['GET', '/api/actions?kind=K'],
  ['GET', '/api/actions?kind=K&state=pending'],
  ['GET', '/api/actions?channel=checkin&state=failed'],
  ['GET', '/api/actions?tag=t1'],
  ['GET', '/api/actions?tag=rare'],
  ['GET', '/api/actions?tag=rare&state=failed'],
  ['GET', '/api/actions?tag=:older'],
  ['GET', '/api/actions?tag=:older&state=failed'],
  ['GET', '/api/actions?tag=:older&state=pending'],
  ['GET', '/api/actions?tag=:older&kind=K'],
  ['GET', '/api/actions?tag=:older&state=expired'],
  ['GET', '/api/actions?tag=:recent'],
  ['GET', '/api/actions?tag=:recent&state=failed'],
  ['GET', '/api/actions?tag=:recent&kind=K&channel=checkin'],
  ['POST', '/api/actions/count', { tag: ':recent' }],
  ['POST', '/api/actions/count', { tag: ':recent', state: 'failed' }],
  // none of them is unfinished
  ['POST', '/api/actions/cancel', { tag: ':recent' }],
  ['GET', '/api/actions/failures'],
  ['GET', '/api/devices/:device/actions'],
  ['GET', '/api/devices/:device/actions?state=finished'],
  ['GET', '/api/devices/:device/milestones'],
  ['GET', '/api/devices/:device/queue'],
  ['GET', '/api/hosts/:host/actions'],
  ['GET', '/api/pcs/:pc/actions'],
  ['GET', '/api/batches/:batch/targets'],
  ['GET', '/api/tasks/:task/devices'],
  ['GET', '/api/workflows/:workflow/runs'],
  ['GET', '/api/webhooks'],
  ['GET', '/api/webhooks/:webhook/deliveries'],
  ['GET', '/api/tenants'],
  ['GET', '/api/overview'],
  ['GET', '/api/events?limit=100'],
  ['GET', '/v2/dlq'],
  ['GET', '/api/actions?state=failed&error=space&limit=10'],
  ['GET', '/api/counts'],
  ['GET', '/api/devices'],
  ['GET', '/api/hosts'],
  ['GET', '/api/hosts/load'],
  ['GET', '/api/hosts/load?text=web&online=false'],
  ['GET', '/api/devices?text=tablet&online=false'],
  ['GET', '/api/pcs'],
  ['GET', '/api/pcs?text=rack&online=false'],
  ['GET', '/api/pcs/running'],
  ['GET', '/api/tasks'],
  ['GET', '/api/batches'],
  ['GET', '/api/workflows'],
  ['GET', '/api/orders'],
  ['GET', '/api/orders?deleted=true'],
  ['GET', '/api/bots'],
  ['GET', '/api/bots?deleted=true'],
  ['GET', '/api/bots?status=PROCESSING'],
  ['GET', '/api/tokens'],
  ['GET', '/api/audit'],
  ['GET', '/api/stats'],
  ['GET', '/api/search?q=printer'],
  ['GET', '/api/phones'],
] as readonly (readonly [method: string, path: string, body?: object])[];

/** One of each, by its word in LISTS. */
const made = new Map<string, string>();
const filled = (path: string) => path.replaceAll(/:(\w+)/g, (_, word) => made.get(word) ?? `no ${word}`);

async function makeOneOfEach(): Promise<void> {
  const make = async (word: string, path: string, body?: object) => {
    const { body: answer } = await t.post(path, body);
    made.set(word, answer.id);
    return answer.id as string;
  };
  const pc = await make('pc', '/api/pcs', { name: 'rack' });
  await make('its device', '/api/devices', { name: 'tablet on a cable', pcId: pc });
  const device = await make('device', '/api/devices', { name: 'tablet' });
  await make('host', '/api/hosts', { name: 'web' });
  const targets = { deviceIds: [device] };
  await make('batch', '/api/batches', { targets, action: { kind: 'X' } });
  await make('workflow', '/api/workflows', {
    ...{ name: 'nightly', schedule: { cron: '0 3 * * *' } },
    ...{ targets, action: { kind: 'X' } },
  });
  await make('task', '/api/tasks', { name: 'update', kind: 'X', targets: { pcIds: [pc] } });
  await make('webhook', '/api/webhooks', { url: 'https://example.com', events: ['action.failed'] });
}

/** The lower of two counts: a connection whose caches were dropped reads the catalogue too. */
async function pagesOf(method: string, path: string, body?: object): Promise<number> {
  return Math.min(await pagesOnce(method, path, body), await pagesOnce(method, path, body));
}

async function pagesOnce(method: string, path: string, body?: object): Promise<number> {
  heard = [];
  const { status, body: said } = await t.send(
    method,
    filled(path),
    body && JSON.parse(filled(JSON.stringify(body))),
  );
  const asked = heard;
  heard = null;
  expect([path, status, status === 200 || said]).toEqual([path, 200, true]);
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
  // events that a transaction of another suite holds back are not read and cost nothing
  await settledUpTo(t.engine.db);
  await t.engine.db.query({ text: 'vacuum analyze' });
  const pages = new Map<string, number>();
  for (const [method, path, body] of LISTS)
    pages.set(`${path}${body ? ` ${JSON.stringify(body)}` : ''}`, await pagesOf(method, path, body));
  return pages;
}

test('every list with pages is in this test', () => {
  const shapeOf = (path: string) => path.split('?')[0]?.replaceAll(/:\w+/g, ':one');
  const paged = Object.values(api)
    .flatMap((door) => Object.values(door) as Endpoint[])
    .filter(
      ({ method, query }) =>
        method === 'GET' && Object.hasOwn((query as { shape?: object } | undefined)?.shape ?? {}, 'cursor'),
    );
  const looked = new Set(LISTS.map(([, path]) => shapeOf(path)));
  // a stream, and actions by channel, as below
  for (const path of ['/api/live', '/v2/events']) looked.add(path);
  expect(paged.map(({ path }) => shapeOf(path)).filter((path) => !looked.has(path))).toEqual([]);
  expect(paged.length).toBeGreaterThan(20);
});

/** MUSTER_TEST_ACTIONS=1000000 takes minutes and shows the same. */
const MANY = Number(process.env.MUSTER_TEST_ACTIONS ?? 40_000);

test('G47: the first page of every list costs no more with 40,000 actions than with 3,000', async () => {
  const { db } = t.engine;
  await makeOneOfEach();
  const { rows: lanes } = await db.query({
    text: `select lane_id from muster.devices where device_id = ${made.get('device')}`,
  });
  const deviceLane = lanes[0].lane_id;
  const lane = (await t.post('/api/lanes/printer/actions', { kind: 'X' })).body;
  const { laneId } = (await t.engine.get(db, 1, lane.id)) as { laneId: string };
  // straight into the tables: only reads are measured here
  const fill = async (from: number, to: number) => {
    // a tag on most of them, after 1,300 others, and one on the 20 that failed last
    const [older, recent] = [`older-${to}`, `recent-${to}`];
    made.set('older', older).set('recent', recent);
    const series = `generate_series(${from}, ${to}) n`;
    await db.query({
      text: `insert into muster.actions (tenant_id, action_id, lane_id, channel, kind, payload, priority, tags, created_at,
          max_attempts, backoff_ms, backoff_max_ms, head_of_line, on_lease_end)
        select 1, 1000 + n, case when n % 10 = 1 then ${deviceLane} else ${laneId} + 1 + n % 998 end, case when n % 10 = 1 then 'checkin' else 'generic' end,
          'K', '{}', 1, array_remove(array['t' || n % 10, case when n in (5, 15, 25) then 'rare' end, case when n <= ${to} - 1300 then '${older}' end,
            case when n > ${to} - 40 and n % 2 = 1 then '${recent}' end], null), now(), 3, 0, 0, 'skip', 'retry' from ${series}`,
    });
    await db.query({
      text: `insert into muster.action_tags (tenant_id, action_id, tag)
        select 1, 1000 + n, unnest(a.tags) from ${series} join muster.actions a on a.tenant_id = 1 and a.action_id = 1000 + n`,
    });
    await db.query({
      text: `insert into muster.pending (tenant_id, action_id, lane_id, generation, channel, priority, seq)
        select 1, 1000 + n, ${laneId} + 1 + n % 998, 1, 'generic', 1, 1000 + n from ${series} where n % 2 = 0`,
    });
    await db.query({
      text: `insert into muster.endings (tenant_id, action_id, state, attempt, reason, error, ended_at)
        select 1, 1000 + n, case when n - ${from} between 40 and 79 then 'expired' else 'failed' end, 1, 'FAILED', 'no space', now()
        from ${series} where n % 2 = 1`,
    });
  };
  await db.query({
    text: `insert into muster.lanes (tenant_id, lane_id) select 1, ${laneId} + n from generate_series(1, 999) n on conflict do nothing`,
  });
  await fill(1, 3_000);
  const few = await pagesOfAll();
  await fill(3_001, MANY);
  const many = await pagesOfAll();
  const dearer = [...many].filter(([path, pages]) => pages > (few.get(path) ?? 0) * 1.5 + 60);
  expect(dearer.map(([path, pages]) => [path, few.get(path), pages])).toEqual([]);
  // and the page has the requested rows
  const sizes = {
    ':older': 100,
    ':older&state=expired': 20,
    ':recent': 20,
    ':recent&state=failed': 20,
    'rare&state=failed': 3,
  };
  for (const [tag, size] of Object.entries(sizes)) {
    const { actions, looked } = (await t.get(filled(`/api/actions?tag=${tag}`))).body;
    expect([tag, actions.length, looked]).toEqual([tag, size, undefined]);
  }
  // a search without a match examines a bounded number, and the cursor continues
  for (const query of ['kind=none', 'channel=none', 'kind=none&state=failed']) {
    const { actions, cursor, looked } = (await t.get(`/api/actions?${query}`)).body;
    expect([query, actions, cursor !== null, looked]).toEqual([query, [], true, 10_000]);
  }
});

/** Planned without looking at the values, as the database does with a frequent prepared statement. */
async function pagesAskedOften(path: string, name: string): Promise<number> {
  heard = [];
  await t.get(path);
  const { text, values = [] } = heard.find((one) => one.name === name) as Statement;
  heard = null;
  const literals = values.map((value) => `'${value instanceof Date ? value.toISOString() : value}'`);
  return t.engine.db.transaction(async (tx) => {
    await tx.query({ text: 'set local plan_cache_mode = force_generic_plan' });
    await tx.query({ text: `prepare asked_often as ${text}` });
    const { rows } = await tx.query({
      text: `explain (analyze, buffers, timing off, format json) execute asked_often (${literals.join(', ')})`,
    });
    await tx.query({ text: 'deallocate asked_often' });
    const { Plan } = rows[0]['QUERY PLAN'][0];
    return Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
  });
}

test('G47: a page of orders costs the same wherever it starts', async () => {
  const { db } = t.engine;
  await db.query({
    text: `insert into muster.orders (tenant_id, order_id, order_number, type, action_id, place, created_at, updated_at, completed_at)
      select 1, gen_random_uuid(), n, 'NORMAL', 1000000 + n, 1000000 + n, now(), now(), case when n % 2 = 0 then now() end
      from generate_series(1, 20000) n`,
  });
  await db.query({ text: 'vacuum analyze' });
  const pages = (query: string, name = 'muster_list_orders') => pagesAskedOften(`/api/orders?${query}`, name);
  expect(await pages('limit=100&cursor=4300')).toBeLessThan((await pages('limit=100&cursor=419900')) + 60);
  expect(await pages('limit=100&cursor=219000')).toBeLessThan((await pages('limit=100&cursor=2100')) + 60);
  // and so does the list of the few deleted ones, whatever is between them
  await db.query({ text: 'update muster.orders set deleted_at = now() where order_number % 1000 < 2' });
  await db.query({ text: 'vacuum analyze muster.orders' });
  for (const cursor of ['21', '419900'])
    expect(await pages(`deleted=true&limit=20&cursor=${cursor}`, 'muster_list_deleted_orders')).toBeLessThan(
      (await pages('limit=20')) + 60,
    );
});
