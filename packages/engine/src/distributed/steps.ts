/** The steps of a statement, `with a as (…), b as (…) …`: what stands before them, they themselves, and what follows. */
export interface Steps {
  readonly before: string;
  readonly steps: readonly Step[];
  readonly after: string;
}

export interface Step {
  readonly name: string;
  readonly isMaterialized: boolean;
  readonly body: string;
}

const FIRST = /\bwith\s+(\w+)\s+as\s+(materialized\s+)?\(/g;
const NEXT = /\s*,\s*(\w+)\s+as\s+(materialized\s+)?\(/y;

/** Comments must be gone: `withoutComments`. Null: there are no steps. */
export function stepsOf(text: string): Steps | null {
  FIRST.lastIndex = 0;
  let found = FIRST.exec(text);
  if (!found) return null;
  const before = text.slice(0, found.index);
  const steps: Step[] = [];
  let end = 0;
  while (found) {
    const from = found.index + found[0].length;
    end = closing(text, from);
    steps.push({
      name: found[1] as string,
      isMaterialized: found[2] !== undefined,
      body: text.slice(from, end - 1).trim(),
    });
    NEXT.lastIndex = end;
    found = NEXT.exec(text);
  }
  return { before, steps, after: text.slice(end) };
}

export const withSteps = ({ before, steps, after }: Steps) =>
  `${before}with ${steps
    .map(
      ({ name, isMaterialized, body }) =>
        `${name} as ${isMaterialized ? 'materialized ' : ''}(\n    ${body}\n  )`,
    )
    .join(', ')}${after}`;

export const withoutComments = (text: string) =>
  text.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, (one) => (one.startsWith("'") ? one : ' '));

/** Behind the parenthesis that closes one opened before `from`. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "'") at = text.indexOf("'", at + 1);
    else if (letter === '(') depth += 1;
    else if (letter === ')') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  throw new Error('A step of a statement has no end.');
}
