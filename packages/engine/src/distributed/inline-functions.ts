/**
 * Writes the bodies of the schema's SQL functions into the statements that call them in their `from`. A server plans such a call as
 * part of the statement; a distributed database does not, and refuses functions that read tables of tenants.
 */
export interface SqlFunction {
  readonly body: string;
  /** By position; functions without names have $1, $2, … */
  readonly parameters: readonly string[];
  readonly columns: readonly string[];
}

const DEPTH = 8;

export function inlineFunctions(text: string, functions: ReadonlyMap<string, SqlFunction>): string {
  let result = text;
  for (let n = 0; n < DEPTH; n += 1) {
    const next = inlineOnce(result, functions);
    if (next === result) return result;
    result = next;
  }
  throw new Error('A function of the schema calls itself.');
}

function inlineOnce(text: string, functions: ReadonlyMap<string, SqlFunction>): string {
  const call = /\b(\w+\.\w+)\(/g;
  let result = '';
  let from = 0;
  for (let match = call.exec(text); match; match = call.exec(text)) {
    const known = functions.get(match[1] as string);
    if (!known) continue;
    const { values, end } = readArguments(text, match.index + match[0].length);
    result += text.slice(from, match.index) + bodyOf(known, values);
    from = end;
    call.lastIndex = end;
  }
  return result + text.slice(from);
}

function bodyOf({ body, parameters, columns }: SqlFunction, values: readonly string[]): string {
  const named = new Map(parameters.map((name, at) => [name, values[at] ?? 'null']));
  const filled = body.replace(/\$(\d+)|\bp_\w+/g, (word, place?: string) => {
    // those that are not given are null by default
    const value =
      place === undefined
        ? named.get(word)
        : (values[Number(place) - 1] ?? (Number(place) <= parameters.length ? 'null' : undefined));
    return value === undefined ? word : `(${value})`;
  });
  return `(select inlined.* from (${filled.trim().replace(/;$/, '')}) inlined(${columns.join(', ')}))`;
}

/** From behind the opening parenthesis. */
function readArguments(text: string, start: number): { values: string[]; end: number } {
  const values: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "'") at = text.indexOf("'", at + 1);
    else if (letter === '(' || letter === '[') depth += 1;
    else if (letter === ']') depth -= 1;
    else if (letter === ',' && depth === 0) {
      values.push(text.slice(from, at).trim());
      from = at + 1;
    } else if (letter === ')') {
      if (depth === 0) {
        values.push(text.slice(from, at).trim());
        return { values, end: at + 1 };
      }
      depth -= 1;
    }
  }
  throw new Error('A call of a function has no end.');
}
