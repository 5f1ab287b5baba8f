import { readFileSync } from 'node:fs';
import { ACTION_TYPES, POLICIES } from '@muster/contracts/words';
import { buildSchema, getIntrospectionQuery, parse, printSchema, validate } from 'graphql';
import { expect, test } from 'vitest';
import { limitRule } from '../src/features/pipeline/graphql/limits.ts';
import { DocumentOver, ReadTurns } from '../src/features/pipeline/graphql/read-turns.ts';
import { SDL } from '../src/features/pipeline/graphql/schema.ts';
import { policyAfter, policyInSql, refusalOf, typeOf } from '../src/features/pipeline/transitions.ts';

const schema = buildSchema(SDL);

test('the committed schema is the one that is served; npm run generate writes it', () => {
  const file = new URL('../schema.graphql', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(`${printSchema(schema)}\n`);
});

test('G75: every action is allowed from the policies of its row, and from no other', () => {
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

test('busy comes first, an unlock needs a token, and queued actions are no reason to refuse', () => {
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

test('a refused transition names the policy of the device and the required ones', () => {
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

test('G76: a document has ten levels at most, fragments included; the depth of introspection does not count', () => {
  expect(errorsOf(`{ execution(id: 1) { ${nested(4)} } }`)).toEqual([]);
  expect(errorsOf(`{ execution(id: 1) { ${nested(5)} } }`)).toEqual(['QUERY_TOO_COSTLY']);
  expect(
    errorsOf(`{ execution(id: 1) { ...a } } fragment a on Execution { action { executions { ...b } } }
      fragment b on Execution { ${nested(4)} }`),
  ).toEqual(['QUERY_TOO_COSTLY']);
  expect(errorsOf(getIntrospectionQuery())).toEqual([]);
});

test('G76: a document costs 1,000 at most: pages by their size, variables at their largest, mutations ten', () => {
  expect(errorsOf('{ devices(first: 100) { nodes { id name policy } } }')).toEqual([]);
  expect(
    errorsOf('{ devices(first: 100) { nodes { id name policy udid serial model tags isBusy osVersion } } }'),
  ).toEqual(['QUERY_TOO_COSTLY']);
  expect(
    errorsOf(
      'query ($n: Int) { devices(first: $n) { nodes { id name policy udid serial model tags isBusy osVersion } } }',
    ),
  ).toEqual(['QUERY_TOO_COSTLY']);
  // a list counts as often as it may have entries, 20 by default
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

test('G76: fields that cause a read cost five', () => {
  const read = (count: number) =>
    `{ ${Array.from({ length: count }, (_, n) => `a${n}: executions(first: 1) { cursor }`).join(' ')} }`;
  expect(errorsOf(read(166))).toEqual([]);
  expect(errorsOf(read(167))).toEqual(['QUERY_TOO_COSTLY']);
});

/** Reads that end on command, in the order in which they began. */
function heldReads() {
  const begun: { name: string; end: () => void }[] = [];
  return {
    begun,
    names: () => begun.map(({ name }) => name),
    ask: (name: string, of: ReturnType<ReadTurns['begin']>) =>
      of.read(() => new Promise<void>((end) => begun.push({ name, end }))),
  };
}
const turn = () => new Promise(setImmediate);

test('G76: four reads run at once, and tenants, tokens and documents take turns', async () => {
  const turns = new ReadTurns(60_000);
  const held = heldReads();
  const greedy = turns.begin({ tenantId: 1, tokenId: 'a' });
  const over = Array.from({ length: 8 }, () => held.ask('greedy', greedy));
  over.push(held.ask('second', turns.begin({ tenantId: 1, tokenId: 'a' })));
  over.push(held.ask('colleague', turns.begin({ tenantId: 1, tokenId: 'b' })));
  over.push(held.ask('other', turns.begin({ tenantId: 2, tokenId: 'c' })));
  await turn();
  expect(held.names()).toEqual(Array(4).fill('greedy'));
  for (let at = 0; at < over.length; at += 1) {
    held.begun[at]?.end();
    await turn();
  }
  await Promise.all(over);
  const afterwards = held.names().slice(4);
  // one of each tenant in turn; if a token has several documents, one of each
  expect(afterwards.slice(0, 2).sort()).toEqual(['colleague', 'other']);
  expect(afterwards.indexOf('second')).toBeLessThan(4);
});

test('G76: a token and a tenant have a limited number of documents in progress, and one past its deadline is not read', async () => {
  const turns = new ReadTurns(60_000, { documents: 10, ofCaller: 2 });
  const mine = { tenantId: 1, tokenId: 'a' };
  const first = turns.begin(mine);
  turns.begin(mine);
  expect(() => turns.begin(mine)).toThrow('try again');
  const others = (tenantId: number) =>
    Array.from({ length: 10 }, (_, n) => {
      try {
        return turns.begin({ tenantId, tokenId: `${n}` });
      } catch {
        return null;
      }
    }).filter((one) => one !== null).length;
  expect(others(1)).toBeLessThan(8);
  expect(others(2)).toBeGreaterThan(0);
  const { documents } = turns;
  first.end();
  expect(turns.documents).toBe(documents - 1);
  const late = new ReadTurns(-1).begin(mine);
  await expect(late.read(async () => 'read')).rejects.toMatchObject({ code: 'MUSTER_OVERLOADED' });
});

test('G76: nothing more is read for a document that has ended, and it counts until its last read has ended', async () => {
  const turns = new ReadTurns(60_000, { documents: 10, ofCaller: 2 });
  const mine = { tenantId: 1, tokenId: 'a' };
  const held = heldReads();
  const [failed, other] = [turns.begin(mine), turns.begin(mine)];
  const asked = Promise.allSettled(Array.from({ length: 9 }, () => held.ask('failed', failed)));
  const rest = Array.from({ length: 3 }, () => held.ask('rest', other));
  await turn();
  // both of another token wait behind all others
  const colleague = { tenantId: 1, tokenId: 'b' };
  const [leaving, staying] = [turns.begin(colleague), turns.begin(colleague)];
  const left = held.ask('left', leaving).catch((error) => error);
  const stayed = held.ask('stayed', staying);
  leaving.end();
  expect(await left).toBeInstanceOf(DocumentOver);
  failed.end();
  await expect(held.ask('late', failed)).rejects.toBeInstanceOf(DocumentOver);
  expect([turns.documents, held.names()]).toEqual([3, Array(4).fill('failed')]);
  expect(() => turns.begin(mine)).toThrow('try again');
  for (let at = 0; at < 8; at += 1) {
    held.begun[at]?.end();
    await turn();
  }
  await Promise.all([stayed, ...rest]);
  const refused = (await asked).filter(({ status }) => status === 'rejected');
  expect([refused.length, turns.documents]).toEqual([5, 2]);
  expect(held.names().slice(4).sort()).toEqual(['rest', 'rest', 'rest', 'stayed']);
  // no other lost its turn
  const again = Promise.all(Array.from({ length: 5 }, () => held.ask('again', staying)));
  await turn();
  expect(held.names().filter((name) => name === 'again')).toHaveLength(4);
  for (const { end } of held.begun) end();
  await turn();
  held.begun.at(-1)?.end();
  await again;
  for (const one of [other, staying, failed]) one.end();
  expect(turns.documents).toBe(0);
});
