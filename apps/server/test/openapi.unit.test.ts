import { readFileSync } from 'node:fs';
import { endpoint } from '@muster/contracts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { anybody } from '../src/http/access.ts';
import { defineRoute, type Route } from '../src/http/define-route.ts';
import { schemaForAjv } from '../src/http/json-schema.ts';
import { openApi } from '../src/http/openapi.ts';

const committed = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));

function referencesOf(document: object): string[] {
  return [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => String(ref));
}

function routeFor(path: string, schema: z.ZodType): Route {
  const facts = {
    method: 'GET',
    path,
    summary: '',
    responses: { 200: { description: '', schema } },
  } as const;
  return defineRoute(endpoint(facts), { access: anybody, handler: () => null });
}

test('every reference of the description resolves, and every named schema is used', () => {
  const names = ['schemas', 'responses'].flatMap((kind) =>
    Object.keys(committed.components[kind]).map((name) => `#/components/${kind}/${name}`),
  );
  expect(names.length).toBeGreaterThan(30);
  expect([...new Set(referencesOf(committed))].sort()).toEqual(names.sort());
});

test('a named schema is written once, however often and wherever it is used', () => {
  const time = z.string().meta({ id: 'TestTime' });
  const thing = z.strictObject({ at: time, until: time.optional().describe('the end') });
  const document = openApi([routeFor('/a', thing), routeFor('/b', z.array(time))], '1') as typeof committed;
  expect(document.components.schemas.TestTime).toEqual({ type: 'string' });
  expect(referencesOf(document).filter((ref) => ref.endsWith('/TestTime'))).toHaveLength(3);
  expect(JSON.stringify(document)).not.toContain('$defs');
});

test('two different schemas with one name stop the description', () => {
  const [one, other] = [z.string().meta({ id: 'TestTwice' }), z.number().meta({ id: 'TestTwice' })];
  expect(() => openApi([routeFor('/a', one), routeFor('/b', other)], '1')).toThrow('called TestTwice');
});

test('the schemas that check requests have no references: an error names its place in one schema', () => {
  const name = z.string().min(1).describe('a name').meta({ id: 'TestName' });
  expect(schemaForAjv(z.strictObject({ a: name.optional().describe('whose'), b: z.array(name) }))).toEqual({
    type: 'object',
    properties: {
      a: { type: 'string', minLength: 1, description: 'whose' },
      b: { type: 'array', items: { type: 'string', minLength: 1, description: 'a name' } },
    },
    required: ['b'],
    additionalProperties: false,
  });
});
