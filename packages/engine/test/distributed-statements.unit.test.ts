import { describe, expect, test } from 'vitest';
import { withCode } from '../src/distributed/copied-errors.ts';
import { inlineFunctions } from '../src/distributed/inline-functions.ts';
import { inlineViews } from '../src/distributed/inline-views.ts';
import { pinTenant } from '../src/distributed/pin-tenant.ts';
import { splitSteps } from '../src/distributed/split-steps.ts';

// What becomes of statements on a database that is distributed by tenant; that it carries them out is shown by the suites on one.

const isOfTenants = (table: string) => ['s.lanes', 's.pending', 's.endings'].includes(table);
const pinned = (text: string) => plain(pinTenant(text, { isOfTenants, tenant: '$9' }));
const plain = (text: string) => text.replace(/\s+/g, ' ').replace(/\( /g, '(').replace(/ \)/g, ')').trim();

describe('every table of tenants is compared with the tenant', () => {
  test.each([
    ['select 1 from s.lanes l', 'select 1 from s.lanes l where l.tenant_id = $9'],
    ['select 1 from s.lanes where a', 'select 1 from s.lanes where lanes.tenant_id = $9 and (a)'],
    [
      'select 1 from s.lanes l where a or b order by c',
      'select 1 from s.lanes l where l.tenant_id = $9 and (a or b) order by c',
    ],
    [
      'select 1 from s.lanes l left join s.endings z on z.id = l.id',
      'select 1 from s.lanes l left join (select * from s.endings where tenant_id = $9) z on z.id = l.id where l.tenant_id = $9',
    ],
    [
      'update s.lanes l set ver = 1 from k where l.id = k.id returning l.id',
      'update s.lanes l set ver = 1 from k where l.tenant_id = $9 and (l.id = k.id) returning l.id',
    ],
    [
      'delete from s.pending p using k where a or b',
      'delete from s.pending p using k where p.tenant_id = $9 and (a or b)',
    ],
    [
      'select 1 from a cross join lateral (select 1 from s.lanes l where b limit 1 for update skip locked) l',
      'select 1 from a cross join lateral (select 1 from s.lanes l where l.tenant_id = $9 and (b) limit 1 for update skip locked) l',
    ],
    [
      'select exists (select 1 from s.pending p), (select 1 from s.other o)',
      'select exists (select 1 from s.pending p where p.tenant_id = $9), (select 1 from s.other o)',
    ],
    [
      "select 1 from s.lanes l where a = 'from s.pending' union all select 2 from s.pending",
      "select 1 from s.lanes l where l.tenant_id = $9 and (a = 'from s.pending') union all select 2 from s.pending where pending.tenant_id = $9",
    ],
    ['insert into s.lanes (id) select 1', 'insert into s.lanes (id) select 1'],
    [
      'insert into s.lanes as l (id) values (1) on conflict (id) do update set a = 1 where l.b',
      'insert into s.lanes as l (id) values (1) on conflict (id) do update set a = 1 where l.b',
    ],
  ])('%s', (text, own) => {
    expect(pinned(text)).toBe(own);
  });
});

describe('functions that read tables are written out', () => {
  const functions = new Map([
    [
      's.first',
      {
        body: 'select l.id from s.lanes l where l.tenant_id = p_tenant and l.tag = $2',
        parameters: ['p_tenant', 'p_tag'],
        columns: ['id'],
      },
    ],
  ]);
  test('with what they are called with, or null', () => {
    expect(plain(inlineFunctions('select f.id from s.first(i.tenant, (1 + 2)) f', functions))).toBe(
      'select f.id from (select inlined.* from (select l.id from s.lanes l where l.tenant_id = (i.tenant) and l.tag = ((1 + 2))) inlined(id)) f',
    );
    expect(inlineFunctions('select f.id from s.first(1) f', functions)).toContain('l.tag = (null)');
  });

  test('one that calls itself is an error', () => {
    const endless = new Map([['s.f', { body: 'select * from s.f(1)', parameters: ['a'], columns: ['a'] }]]);
    expect(() => inlineFunctions('select 1 from s.f(2) f', endless)).toThrow(
      'A function of the schema calls itself.',
    );
  });
});

test('views are written out under the name that the statement gives them', () => {
  const views = new Map([
    ['s.loads', 'select 1 from s.inner i'],
    ['s.inner', 'select 2 from s.lanes'],
  ]);
  expect(plain(inlineViews('select r.a, l.b from s.loads l join s.loads on true', views))).toBe(
    'select r.a, l.b from (select 1 from (select 2 from s.lanes) i) l join (select 1 from (select 2 from s.lanes) i) loads on true',
  );
});

describe('steps', () => {
  const order = (text: string) =>
    [...splitSteps(text).matchAll(/(\w+) as (?:materialized )?\(/g)].map(([, name]) => name);

  test('that read come first, unless they need what is written', () => {
    expect(
      order(
        'with a as (update t set x = 1 returning id), b as (select 1 from a), c as (select 2 from u), d as (insert into v (i) select 1 from c) select * from b',
      ),
    ).toEqual(['c', 'a', 'b', 'd']);
  });

  test('take numbers where no table is read', () => {
    expect(
      plain(
        splitSteps("with a as materialized (select id, nextval('s.seq') as n from s.lanes) select * from a"),
      ),
    ).toBe(
      "with a_read as materialized (select id, true as has_number from s.lanes), a as materialized (select r.*, nextval('s.seq') as n from a_read r) select * from a",
    );
    expect(
      plain(
        splitSteps(
          "with a as (select id, case when b then nextval('s.seq') end as n from s.lanes) select * from a",
        ),
      ),
    ).toBe(
      "with a_read as materialized (select id, b as has_number from s.lanes), a as (select r.*, case when r.has_number then nextval('s.seq') end as n from a_read r) select * from a",
    );
  });

  test('comments with quotes and parentheses are no part of them', () => {
    expect(
      order("with a as (select 1 -- the caller's (lane\n), b as (select ')' from a) select * from b"),
    ).toEqual(['a', 'b']);
  });
});

test('what another server refused while rows were copied to it has its code again', () => {
  const refused = (message: string) => withCode(Object.assign(new Error(message), { code: 'XX000' }));
  expect(refused('duplicate key value violates unique constraint "lanes_pkey_102008"')).toMatchObject({
    code: '23505',
  });
  expect(refused('new row for relation "a_1" violates check constraint "b"')).toMatchObject({
    code: '23514',
  });
  expect(refused('no partition of relation "events_102048" found for row')).toMatchObject({ code: '23514' });
  expect(refused('canceling statement due to lock timeout')).toMatchObject({ code: '55P03' });
  expect(refused('something else')).toMatchObject({ code: 'XX000' });
  expect(withCode(Object.assign(new Error('no partition of relation'), { code: '42P01' }))).toMatchObject({
    code: '42P01',
  });
});

test('an insert behind steps is a step, so that its numbers are those of the coordinator', () => {
  expect(plain(splitSteps('with a as (select 1 as x) insert into t (x) select x from a returning id'))).toBe(
    'with a as (select 1 as x), inserted as (insert into t (x) select x from a returning id) select * from inserted',
  );
});
