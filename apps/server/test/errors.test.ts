import { readFileSync } from 'node:fs';
import { ERRORS } from '@muster/contracts/words';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorsTable } from '../src/http/reference.ts';
import { type TestServer, testServer } from '../testing/test-server.ts';

let t: TestServer;
beforeAll(async () => {
  t = await testServer();
});
afterAll(() => t.close());

test('docs/errors.md lists every code with its status and meaning, and no other', () => {
  const text = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  expect(text, 'run npm run generate').toContain(errorsTable(t.server.errors));
  const listed = [...text.matchAll(/^\| `([A-Z][A-Z_]+)`/gm)].map(([, code]) => code);
  expect(listed.sort()).toEqual(Object.keys(t.server.errors).sort());
});

test('the contracts know every code that the server can answer, and no other', () => {
  expect(t.server.errors).toEqual(ERRORS);
});
