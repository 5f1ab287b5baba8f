import { readFileSync } from 'node:fs';
import { ACTION_TYPES, POLICIES } from '@muster/contracts/words';
import { buildSchema, getIntrospectionQuery, parse, printSchema, validate } from 'graphql';
import { expect, test } from 'vitest';
import { limitRule } from '../src/features/pipeline/graphql/limits.ts';
import { SDL } from '../src/features/pipeline/graphql/schema.ts';
import { policyAfter, policyInSql, refusalOf, typeOf } from '../src/features/pipeline/transitions.ts';

const schema = buildSchema(SDL);

test('the committed schema is the one that is served; npm run generate writes it', () => {
  const file = new URL('../schema.graphql', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(`${printSchema(schema)}\n`);
});

test('G75: every action is allowed from the policies of the seed, and from no other', () => {
  const allowed = Object.fromEntries(
    ACTION_TYPES.map((type) => [
      type.name,
      POLICIES.filter(
        (policy) =>
          refusalOf(type, { current: policy, policy, isBusy: false, hasUnlockToken: true }, 'REJECT') ===
          null,
      ),
    ]),
  );
  expect(allowed).toEqual({
    Upload: [],
    Register: ['uploaded'],
    Checkin: ['registered'],
    Activate: ['enrolled'],
    Lock: ['active'],
    Unlock: ['locked'],
    'Send Message': ['active', 'locked'],
    'Lock Message': ['active', 'locked'],
    Release: ['active', 'locked'],
    Deregister: ['uploaded', 'registered', 'released'],
  });
  expect(policyAfter('active', [5, 7, 6, 9])).toBe('released');
  expect(policyInSql('x')).toContain("when 8 then 'locked'");
  expect(typeOf(11)).toBeUndefined();
});

test('busy comes first, an unlock needs a token, and a queue is no reason to refuse', () => {
  const [lock, unlock] = [typeOf(5), typeOf(6)];
  if (!lock || !unlock) throw new Error('no such types');
  const locked = { current: 'active', policy: 'locked', isBusy: true, hasUnlockToken: false } as const;
  expect(refusalOf(lock, undefined, 'QUEUE')?.code).toBe('DEVICE_NOT_FOUND');
  expect(refusalOf(lock, locked, 'REJECT')?.code).toBe('DEVICE_BUSY');
  expect(refusalOf(lock, locked, 'QUEUE')).toEqual({
    code: 'INVALID_TRANSITION',
    message:
      'The policy of the device is active and will be locked after its unfinished actions; Lock needs active.',
  });
  expect(refusalOf(unlock, locked, 'QUEUE')?.code).toBe('NO_UNLOCK_TOKEN');
  expect(refusalOf(unlock, { ...locked, hasUnlockToken: null }, 'QUEUE')).toBeNull();
});

test('a refused transition names the policy of the device and those that would do', () => {
  const messageOf = (id: number, policy: 'uploaded') =>
    refusalOf(typeOf(id) as never, { current: policy, policy, isBusy: false, hasUnlockToken: null }, 'REJECT')
      ?.message;
  expect(messageOf(9, 'uploaded')).toBe(
    'The policy of the device is uploaded; Release needs active or locked.',
  );
  expect(messageOf(1, 'uploaded')).toBe('The policy of the device is uploaded; Upload creates a device.');
});

const errorsOf = (document: string) =>
  validate(schema, parse(document), [limitRule]).map((error) => error.extensions.code);
const nested = (levels: number): string =>
  levels === 0 ? 'id' : `action { executions(last: 1) { ${nested(levels - 1)} } }`;

test('G76: a document nests ten levels at most, through fragments too, and one about the schema is no question of depth', () => {
  expect(errorsOf(`{ execution(id: 1) { ${nested(4)} } }`)).toEqual([]);
  expect(errorsOf(`{ execution(id: 1) { ${nested(5)} } }`)).toEqual(['QUERY_TOO_COSTLY']);
  expect(
    errorsOf(`{ execution(id: 1) { ...a } } fragment a on Execution { action { executions { ...b } } }
      fragment b on Execution { ${nested(4)} }`),
  ).toEqual(['QUERY_TOO_COSTLY']);
  expect(errorsOf(getIntrospectionQuery())).toEqual([]);
});

test('G76: a document costs 1,000 at most: pages by their size, variables by the largest, changes by ten', () => {
  expect(errorsOf('{ devices(first: 100) { nodes { id name policy } } }')).toEqual([]);
  expect(
    errorsOf('{ devices(first: 100) { nodes { id name policy udid serial model tags isBusy osVersion } } }'),
  ).toEqual(['QUERY_TOO_COSTLY']);
  expect(
    errorsOf(
      'query ($n: Int) { devices(first: $n) { nodes { id name policy udid serial model tags isBusy osVersion } } }',
    ),
  ).toEqual(['QUERY_TOO_COSTLY']);
  // a list counts as often as it may have entries, 20 unless it is said
  const thrice = `{ execution(id: 1) { ${nested(3).replaceAll('(last: 1)', '')} } }`;
  expect(errorsOf(thrice)).toEqual(['QUERY_TOO_COSTLY']);
  const locks = (count: number) =>
    `mutation { ${Array.from({ length: count }, (_, n) => `a${n}: assignAction(deviceId: 1, actionId: 5) { batchId }`).join(' ')} }`;
  expect(errorsOf(locks(90))).toEqual([]);
  expect(errorsOf(locks(91))).toEqual(['QUERY_TOO_COSTLY']);
  // fragments of fragments: 2^40 fields, measured in no time
  const bomb = Array.from(
    { length: 40 },
    (_, n) => `fragment f${n} on Device { ...f${n + 1} ...f${n + 1} }`,
  ).join(' ');
  expect(errorsOf(`{ device(id: 1) { ...f0 } } ${bomb} fragment f40 on Device { id }`)).toEqual([
    'QUERY_TOO_COSTLY',
  ]);
});
