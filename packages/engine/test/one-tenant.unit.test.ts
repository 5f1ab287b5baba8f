import { expect, test } from 'vitest';
import { checkOneTenant, ofAllTenants, ofOneTenant } from '../src/drivers/one-tenant.ts';
import { hasKeyOf, rows } from '../src/sql.ts';

const lanes = rows(2, { tenant_id: 'int', lane_id: 'bigint' });

test('both rows of a comparison are of the given tenant', () => {
  const text = ofOneTenant(
    `select 1 from ${lanes} join t l on l.tenant_id = i.tenant_id and l.lane_id = i.lane_id`,
  );
  expect(text).toContain(
    'on (l.tenant_id = ($2::int[])[1] and i.tenant_id = ($2::int[])[1]) and l.lane_id = i.lane_id',
  );
});

test('written rows are of that tenant', () => {
  const text = ofOneTenant(`update t l set x = 1 from ${lanes} where ${hasKeyOf('l', 'i', 'lane_id')}`);
  expect(text).toContain('where l.tenant_id = ($2::int[])[1] and l.lane_id = i.lane_id');
});

test('a read of all tenants becomes a read of that one', () => {
  const text = ofOneTenant(
    `with p as (select * from t p where true ${ofAllTenants('p')}) select 1 from ${lanes}`,
  );
  expect(text).toContain('where true  and p.tenant_id = ($2::int[])[1])');
});

test('a statement that names one tenant is limited to it', () => {
  const text = ofOneTenant('select 1 from t a join u b on b.tenant_id = a.tenant_id where a.tenant_id = $3');
  expect(text).toContain('on (b.tenant_id = $3 and a.tenant_id = $3)');
});

test('a statement without a tenant is unchanged', () => {
  const text = 'select 1 from t a join u b on b.tenant_id = a.tenant_id';
  expect(ofOneTenant(text)).toBe(text);
});

test('a list that does not begin with its tenants is an error', () => {
  const text = `select 1 from ${rows(2, { nth: 'int', tenant_id: 'int' })} join t l on l.tenant_id = i.tenant_id`;
  expect(() => ofOneTenant(text)).toThrow('A list of rows must begin with the tenant, not with nth.');
});

test('a list of several tenants is refused, not answered for the first alone', () => {
  const text = `select 1 from ${lanes}`;
  checkOneTenant(text, [new Date(), [7, 7], ['1', '2']]);
  expect(() => checkOneTenant(text, [new Date(), [7, 8], ['1', '2']])).toThrow(
    'a statement is of one tenant',
  );
});
