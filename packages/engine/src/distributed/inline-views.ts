/** Writes the definitions of the schema's views into the statements that read them: what they read has to name the tenant too. */
export function inlineViews(text: string, views: ReadonlyMap<string, string>): string {
  let result = text;
  for (let n = 0; n < DEPTH; n += 1) {
    const next = result.replace(TABLE, (whole, before: string, name: string, alias: string | undefined) => {
      const definition = views.get(name);
      if (definition === undefined) return whole;
      const given = alias !== undefined && !NOT_A_NAME.has(alias.toLowerCase());
      const own = given
        ? ` ${alias}`
        : ` ${name.slice(name.indexOf('.') + 1)}${alias === undefined ? '' : ` ${alias}`}`;
      return `${before}(${definition})${own}`;
    });
    if (next === result) return result;
    result = next;
  }
  throw new Error('A view of the schema reads itself.');
}

const DEPTH = 8;
// PostgreSQL is to refuse to delete from one
const TABLE = /(?<!\bdelete\s+)\b((?:from|join)\s+)(\w+\.\w+)\b(?!\s*[(.])(?:\s+(?:as\s+)?([a-zA-Z_]\w*))?/gi;
const NOT_A_NAME = new Set([
  'cross',
  'full',
  'group',
  'inner',
  'join',
  'left',
  'limit',
  'natural',
  'offset',
  'on',
  'order',
  'right',
  'union',
  'where',
]);
