import { z } from 'zod';

type Schema = Record<string, unknown>;

/**
 * For ajv, with named schemas inlined: its findings give a position by the path through one schema. Made once per
 * schema: many routes share one, ajv recognises what it has compiled, and a second server in the process has nothing
 * left to compile.
 */
export function schemaForAjv(schema: z.ZodType): object {
  const known = madeForAjv.get(schema) ?? makeForAjv(schema);
  madeForAjv.set(schema, known);
  return known;
}

const madeForAjv = new WeakMap<z.ZodType, object>();

function makeForAjv(schema: z.ZodType): object {
  const {
    $schema: _,
    definitions = {},
    ...rest
  } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return inline(rest, definitions as Record<string, Schema>) as object;
}

function inline(part: unknown, named: Record<string, Schema>): unknown {
  if (Array.isArray(part)) return part.map((one) => inline(one, named));
  if (typeof part !== 'object' || part === null) return part;
  const { $ref, allOf, ...own } = part as Schema;
  const ref = $ref ?? (allOf as Schema[] | undefined)?.[0]?.$ref;
  const target = typeof ref === 'string' ? inline(named[ref.slice('#/definitions/'.length)], named) : {};
  const kept = allOf && typeof ref !== 'string' ? { ...own, allOf } : own;
  const entries = Object.entries(kept).map(([key, value]) => [key, inline(value, named)]);
  return { ...(target as object), ...Object.fromEntries(entries) };
}

/** For the published description: named schemas are put into `named`, once, and referenced. */
export function schemaForOpenApi(schema: z.ZodType, named: Map<string, object>): object {
  const {
    $schema: _,
    $defs = {},
    ...rest
  } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  for (const [name, definition] of Object.entries($defs)) {
    const one = relocate(definition) as Schema;
    const known = named.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(one))
      throw new Error(`Two different schemas are called ${name}.`);
    named.set(name, one);
  }
  return relocate(rest) as object;
}

/** Leaves out bounds that hold for every JSON number. */
function relocate(part: unknown): unknown {
  const text = JSON.stringify(part, (key, value) =>
    (key === 'minimum' || key === 'maximum') && Math.abs(value) === Number.MAX_SAFE_INTEGER
      ? undefined
      : value,
  );
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/'));
}
