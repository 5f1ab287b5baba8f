import { expect, it } from 'vitest';
import { CANCELLED, GIVEN_UP } from '../src/attempts.ts';
import { howEnded } from '../src/how-ended.ts';

const of = (more: object, late?: string) =>
  howEnded({ actionId: '1', attempt: 1, status: 'failed', ...more }, late);

it('has the first line of a reason, and no output of a command', () => {
  expect(of({ message: 'The script ended with code 3.\npassword: 1234' })).toBe(
    'failed: The script ended with code 3.',
  );
  expect(of({ exitCode: 7, output: 'password: 1234' })).toBe('failed: it ended with code 7.');
  expect(of({ output: 'password: 1234' })).toBe('failed.');
  expect(of({ status: 'succeeded', message: 'fine' })).toBe('succeeded.');
  expect(of({ status: 'succeeded' }, 'LATE')).toBe('succeeded, but the server had given it up (LATE).');
});

it('issue 11: says cancelled for what an operator cancelled and stopped for what the server gave up, not failed', () => {
  expect(of({ message: CANCELLED })).toBe('cancelled.');
  expect(of({ message: `${CANCELLED}\nhalf of it was done` }, 'CANCELLED')).toBe('cancelled.');
  expect(of({ message: GIVEN_UP }, 'LATE')).toBe('stopped, because the server had given it up.');
});

it('has at most 200 characters, and no terminal controls', () => {
  expect(of({ message: 'x'.repeat(1_000) })).toBe(`failed: ${'x'.repeat(200)}.`);
  expect(of({ message: 'UNKNOWN_KIND: \u001b[2Jx\u0007y' })).toBe('failed: UNKNOWN_KIND: ?[2Jx?y.');
});
