/** JSON as it was written. Parsing turns 9007199254740993 into another number; here each value keeps its own text. */
export type JsonNode =
  | { readonly kind: 'object'; readonly entries: readonly (readonly [key: string, value: JsonNode])[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string' | 'number' | 'word'; readonly text: string };

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const OTHER = /[^\s,\]}]+/y;

/** Parses text that is JSON already; the server wrote it. */
export function readJson(text: string): JsonNode {
  let at = 0;
  const take = (form: RegExp): string => {
    form.lastIndex = at;
    const found = form.exec(text)?.[0] ?? '';
    at += found.length;
    return found;
  };
  const skip = () => take(SPACE);

  function value(): JsonNode {
    skip();
    const first = text[at];
    if (first === '{') return object();
    if (first === '[') return array();
    if (first === '"') return { kind: 'string', text: take(STRING) };
    const other = take(OTHER);
    if (other === '') throw new SyntaxError(`No JSON at ${at}.`);
    return { kind: /^[-\d]/.test(other) ? 'number' : 'word', text: other };
  }
  function object(): JsonNode {
    const entries: [string, JsonNode][] = [];
    at += 1;
    for (skip(); at < text.length && text[at] !== '}'; skip()) {
      const key = JSON.parse(take(STRING)) as string;
      skip();
      at += 1;
      entries.push([key, value()]);
      skip();
      if (text[at] === ',') at += 1;
    }
    at += 1;
    return { kind: 'object', entries };
  }
  function array(): JsonNode {
    const items: JsonNode[] = [];
    at += 1;
    for (skip(); at < text.length && text[at] !== ']'; skip()) {
      items.push(value());
      skip();
      if (text[at] === ',') at += 1;
    }
    at += 1;
    return { kind: 'array', items };
  }
  return value();
}

/** A field of an object, as a node. */
export function fieldOf(node: JsonNode, name: string): JsonNode | undefined {
  return node.kind === 'object' ? node.entries.find(([key]) => key === name)?.[1] : undefined;
}

/** Back to text, indented. */
export function writeJson(node: JsonNode, indent = ''): string {
  const inner = `${indent}  `;
  if (node.kind === 'object') {
    if (node.entries.length === 0) return '{}';
    const lines = node.entries.map(
      ([key, one]) => `${inner}${JSON.stringify(key)}: ${writeJson(one, inner)}`,
    );
    return `{\n${lines.join(',\n')}\n${indent}}`;
  }
  if (node.kind === 'array') {
    if (node.items.length === 0) return '[]';
    return `[\n${node.items.map((one) => inner + writeJson(one, inner)).join(',\n')}\n${indent}]`;
  }
  return node.text;
}

/** Whether the typed text is an object. */
export function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
