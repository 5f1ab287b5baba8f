import { expect, it } from 'vitest';
import { CANCELLED, GIVEN_UP } from '../src/attempts.ts';
import { howEnded } from '../src/how-ended.ts';

const of = (more: object, late?: string) =>
  howEnded({ actionId: '1', attempt: 1, status: 'failed', ...more }, late);

it('says the first line of a reason, and nothing of what a command printed', () => {
  expect(of({ message: 'The script ended with code 3.\npassword: 1234' })).toBe(
    'failed: The script ended with code 3.',
  );
  expect(of({ exitCode: 7, output: 'password: 1234' })).toBe('failed: it ended with code 7.');
  expect(of({ output: 'password: 1234' })).toBe('failed.');
  expect(of({ status: 'succeeded', message: 'fine' })).toBe('succeeded.');
  expect(of({ status: 'succeeded' }, 'LATE')).toBe('succeeded, but the server had given it up (LATE).');
});

it('issue 11: calls what an operator cancelled cancelled, and what the server gave up stopped, not failed', () => {
  expect(of({ message: CANCELLED })).toBe('cancelled.');
  expect(of({ message: `${CANCELLED}\nhalf of it was done` }, 'CANCELLED')).toBe('cancelled.');
  expect(of({ message: GIVEN_UP }, 'LATE')).toBe('stopped, because the server had given it up.');
});

it('says no more than 200 characters, none of which a terminal takes for an order', () => {
  expect(of({ message: 'x'.repeat(1_000) })).toBe(`failed: ${'x'.repeat(200)}.`);
  expect(of({ message: 'UNKNOWN_KIND: \u001b[2Jx\u0007y' })).toBe('failed: UNKNOWN_KIND: ?[2Jx?y.');
});
