import { expect, it } from 'vitest';
import { whyFailed } from '../src/why-failed.ts';

const of = (more: object) => whyFailed({ actionId: '1', attempt: 1, status: 'failed', ...more });

it('says the first line of a reason, and nothing of what a command printed', () => {
  expect(of({ message: 'The script ended with code 3.\npassword: 1234' })).toBe(
    ': The script ended with code 3.',
  );
  expect(of({ exitCode: 7, output: 'password: 1234' })).toBe(': it ended with code 7.');
  expect(of({ output: 'password: 1234' })).toBe('.');
  expect(of({ status: 'succeeded', message: 'fine' })).toBe('.');
});

it('says no more than 200 characters, none of which a terminal takes for an order', () => {
  expect(of({ message: 'x'.repeat(1_000) })).toBe(`: ${'x'.repeat(200)}.`);
  expect(of({ message: 'UNKNOWN_KIND: \u001b[2Jx\u0007y' })).toBe(': UNKNOWN_KIND: ?[2Jx?y.');
});
