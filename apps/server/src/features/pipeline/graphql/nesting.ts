import { GraphQLError, Lexer, Source, TokenKind } from 'graphql';

/**
 * How deep a document may nest brackets of any kind. The parser and the visitors of its tree recurse, and the stack
 * overflowed at some thousand levels; the lexer does not recurse. Ten levels are allowed (`limits.ts`); introspection
 * has fifteen.
 */
export const MOST_NESTING = 50;
const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/** Other errors are left to the parser. */
export function isTooNested(document: string): boolean {
  const lexer = new Lexer(new Source(document));
  let depth = 0;
  try {
    for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
      if (OPENING.has(token.kind)) depth += 1;
      else if (CLOSING.has(token.kind)) depth -= 1;
      if (depth > MOST_NESTING) return true;
    }
  } catch {
    return false;
  }
  return false;
}

export const tooNested = () =>
  new GraphQLError(`The document nests brackets deeper than ${MOST_NESTING}.`, {
    extensions: { code: 'QUERY_TOO_COSTLY' },
  });
