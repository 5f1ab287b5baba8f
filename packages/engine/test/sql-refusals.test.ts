import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestEngine, testEngine } from '../testing/index.ts';

/** G67: what plain SQL may not enqueue; the library and the HTTP body refuse the same. */
let t: TestEngine;
let laneId: string;
beforeAll(async () => {
  t = await testEngine();
  laneId = (await t.lane()).laneId;
});
afterAll(() => t.close());

const enqueue = async (kind: string | null, payload: string | null, options: string | null) =>
  (
    await t.db.query({
      text: 'select muster.enqueue(1, $1, $2, $3::jsonb, $4::jsonb) as id',
      values: [laneId, kind, payload, options],
    })
  ).rows[0].id as string;
const long = 'x'.repeat(513);
const NAME = 'a string of 1 to 200 characters without control characters';

test.each([
  ['test', '', 'The name'],
  ['test', long, 'The name'],
  ['test', 'a\nb', 'The name'],
  ['test', '\u009f', 'The name'],
  ['test', '..', 'The name'],
  ['test', null, 'The name'],
  ['', 'a', 'The space'],
  ['a\tb', 'a', 'The space'],
])('G67: plain SQL makes no lane %j %j, which cannot be written in an address', async (space, name, what) => {
  const made = t.db.query({ text: 'select muster.ensure_lane(1, $1, $2)', values: [space, name] });
  await expect(made).rejects.toMatchObject({
    code: '22023',
    detail: 'MUSTER_BAD_VALUE',
    message: expect.stringMatching(`^${what} of the lane must be a string of 1 to .* control characters`),
  });
});

const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;

test.each<[object, string]>([
  [{ notBefore: 'infinity' }, 'notBefore must be a time between the years 1 and 9999.'],
  [{ deadline: '-infinity' }, 'deadline must be a time between the years 1 and 9999.'],
  [{ deliverBy: '10000-01-01T00:00:00Z' }, 'deliverBy must be a time between the years 1 and 9999.'],
  [{ deliverBy: '0044-03-15 BC' }, 'deliverBy must be a time between the years 1 and 9999.'],
  [{ deliverBy: '2001-01-01T00:00:00Z' }, 'deliverBy is in the past.'],
  [{ deadline: '2001-01-01T00:00:00Z', idempotencyKey: 'new' }, 'deadline is in the past.'],
  [{ deadline: 'soon' }, 'deadline must be a time between the years 1 and 9999.'],
  [{ notBefore: '2027-02-30T00:00:00Z' }, 'notBefore must be a time between the years 1 and 9999.'],
  [{ notBefore: 20_270_101 }, 'notBefore must be a time between the years 1 and 9999.'],
  [{ maxAttempts: 0 }, 'maxAttempts must be a whole number from 1 to 1000.'],
  [{ maxAttempts: 1_001 }, 'maxAttempts must be a whole number from 1 to 1000.'],
  [{ maxAttempts: 1.5 }, 'maxAttempts must be a whole number from 1 to 1000.'],
  [{ maxAttempts: '3' }, 'maxAttempts must be a whole number from 1 to 1000.'],
  [{ backoffMs: -1 }, 'backoffMs must be a whole number from 0 to 2147483647.'],
  [{ backoffMaxMs: 2 ** 31 }, 'backoffMaxMs must be a whole number from 0 to 2147483647.'],
  [{ depthLimit: 'none' }, 'depthLimit must be a whole number from 0 to 2147483647.'],
  [{ priority: 'asap' }, 'priority must be one of urgent, normal.'],
  [{ headOfLine: 'wait' }, 'headOfLine must be one of skip, hold.'],
  [{ onLeaseEnd: 'forget' }, 'onLeaseEnd must be one of retry, fail, succeed.'],
  [{ supersedeKey: 'k', supersedeMode: 'last' }, 'supersedeMode must be one of keep-first, replace, append.'],
  [{ supersedeMode: 'replace' }, 'supersedeMode needs a supersedeKey.'],
  [{ supersedeKey: '' }, `supersedeKey must be ${NAME}.`],
  [{ idempotencyKey: long }, 'idempotencyKey must be a string of 1 to 512 characters.'],
  [{ channel: 5 }, `channel must be ${NAME}.`],
  [{ createdBy: long }, 'createdBy must be a string of 0 to 512 characters.'],
  [{ copiedFrom: 'me' }, 'copiedFrom must be the id of an action.'],
  [
    { tags: 'red' },
    'tags must be a list of at most 50 texts of 1 to 200 characters without control characters.',
  ],
  [
    { tags: ['red', 5] },
    'tags must be a list of at most 50 texts of 1 to 200 characters without control characters.',
  ],
  [
    { tags: [long] },
    'tags must be a list of at most 50 texts of 1 to 200 characters without control characters.',
  ],
  [
    { tags: Array(51).fill('red') },
    'tags must be a list of at most 50 texts of 1 to 200 characters without control characters.',
  ],
  [{ notbefore: '2027-01-01' }, 'There is no option "notbefore" for an action.'],
])('G67: plain SQL with %j is refused with a sentence', async (options, sentence) => {
  await expect(enqueue('x', '{}', JSON.stringify(options))).rejects.toMatchObject({
    code: '22023',
    detail: 'MUSTER_BAD_VALUE',
    message: sentence,
  });
});

test.each<[string | null, string | null, string, string]>([
  [null, '{}', '{}', `The kind must be ${NAME}.`],
  ['two\nlines', '{}', '{}', `The kind must be ${NAME}.`],
  ['', '{}', '{}', `The kind must be ${NAME}.`],
  ['x'.repeat(100_000), '{}', '{}', `The kind must be ${NAME}.`],
  ['x', null, '{}', 'The payload must be JSON, not NULL.'],
  ['x', nested(65), '{}', 'The payload is nested deeper than 64 levels.'],
  ['x', '{}', '[]', 'The options must be a JSON object.'],
])(
  'G67: plain SQL with kind %.5s, payload %.5s and options %s is refused',
  async (kind, payload, options, sentence) => {
    await expect(enqueue(kind, payload, options)).rejects.toMatchObject({ code: '22023', message: sentence });
  },
);

test.each(['9007199254740992', '-9007199254740993', '1e300', '{"a":[{"b":12345678901234567890}]}'])(
  'G67: a number that readers would round is refused in plain SQL: %s',
  async (payload) => {
    await expect(enqueue('x', payload, '{}')).rejects.toMatchObject({
      code: '22003',
      message:
        'The payload has a number beyond 9007199254740991, which would be rounded. Send it as a string.',
    });
  },
);

test('values at the limit are accepted, and a null option counts as not given', async () => {
  const payload = `{"n": [9007199254740991, -9007199254740991, 0.1], "s": "12345678901234567890", "deep": ${nested(62)}}`;
  const options = {
    notBefore: '0001-01-01T00:00:00Z',
    deadline: '9999-12-31T23:59:59.999Z',
    deliverBy: null,
    maxAttempts: 1_000,
    backoffMs: 0,
    backoffMaxMs: 2 ** 31 - 1,
    priority: 'normal',
    supersedeKey: null,
    tags: Array(50).fill('ß'.repeat(200)),
    createdBy: '',
    depthLimit: 1_000,
  };
  const id = await enqueue('ß'.repeat(200), payload, JSON.stringify(options));
  expect(await t.engine.get(t.db, 1, id)).toMatchObject({
    maxAttempts: 1_000,
    deliverBy: null,
    deadline: new Date('9999-12-31T23:59:59.999Z'),
    payload: { s: '12345678901234567890' },
  });
  expect(await enqueue('x', '{}', null)).toMatch(/^\d+$/);
});

test('G67: a repeated request gets its first answer, even when its time has passed', async () => {
  const options = { idempotencyKey: 'late', deliverBy: '2001-01-01T00:00:00.000Z' };
  // the library leaves past times to its callers
  const { id } = await t.engine.enqueue(t.db, {
    ...options,
    tenantId: 1,
    laneId,
    kind: 'x',
    payload: {},
    deliverBy: new Date(options.deliverBy),
  });
  expect(await enqueue('x', '{}', JSON.stringify(options))).toBe(id);
});
