/**
 * Makes a statement of all tenants one of a single tenant: every table of tenants that it reads, updates or deletes from is
 * compared with `tenant`, in the clause where that changes nothing else. A database that is distributed by tenant runs such a
 * statement on that tenant's server, whatever it contains otherwise.
 *
 *   select … from s.lanes l where a or b        → … where l.tenant_id = $7 and (a or b)
 *   left join s.endings z on …                  → left join (select * from s.endings where tenant_id = $7) z on …
 *   update s.lanes l set … / delete from …      → … where l.tenant_id = $7 and (…)
 *
 * It reads words, not grammar: the statements are our own, and a test runs all of them.
 */
export interface Pinning {
  /** Tables and views with a row per tenant, by name and schema. */
  readonly isOfTenants: (table: string) => boolean;
  /** SQL for the tenant. */
  readonly tenant: string;
}

type Kind = 'word' | 'open' | 'close' | 'comma' | 'end' | 'other';
interface Token {
  readonly kind: Kind;
  readonly text: string;
  readonly at: number;
  /** Where it ends. */
  readonly to: number;
}

const TOKEN =
  /\s+|--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$\$|"[^"]*"|[a-zA-Z_][\w$]*(?:\.[a-zA-Z_]\w*)*|\$\d+|\d+(?:\.\d+)?|[(),;]|[^\s]/g;

function tokens(text: string): Token[] {
  const found: Token[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [one] = match;
    if (/^(\s|--|\/\*)/.test(one)) continue;
    const kind: Kind = /^[a-zA-Z_]/.test(one)
      ? 'word'
      : one === '('
        ? 'open'
        : one === ')'
          ? 'close'
          : one === ','
            ? 'comma'
            : one === ';'
              ? 'end'
              : 'other';
    found.push({
      kind,
      text: kind === 'word' ? one.toLowerCase() : one,
      at: match.index,
      to: match.index + one.length,
    });
  }
  return found;
}

/** A select, update or delete: what it has of tenants, and where its condition is. */
interface Block {
  readonly pins: string[];
  isIn: 'head' | 'from' | 'where' | 'tail';
  /** Where its condition begins. */
  whereAt: number | null;
  /** The next table is on the nullable side of a join. */
  isOuter: boolean;
  /** A table may follow. */
  expects: boolean;
}

/** Words after which a condition is over. */
const ENDS = new Set([
  'group',
  'order',
  'limit',
  'offset',
  'for',
  'window',
  'having',
  'returning',
  'union',
  'except',
  'intersect',
  'fetch',
  'loop',
]);
const BETWEEN_BLOCKS = new Set(['union', 'except', 'intersect']);
const NOT_A_NAME = new Set([
  'on',
  'where',
  'set',
  'using',
  'join',
  'left',
  'right',
  'inner',
  'cross',
  'full',
  'natural',
  'order',
  'group',
  'limit',
  'for',
  'returning',
  'union',
  'loop',
  'offset',
  'tablesample',
]);

export function pinTenant(text: string, { isOfTenants, tenant }: Pinning): string {
  const list = tokens(text);
  const edits: { at: number; to: number; text: string }[] = [];
  const insert = (at: number, added: string) => void edits.push({ at, to: at, text: added });
  /** One per open parenthesis. */
  const stack: (Block | null)[] = [null];
  const top = () => stack.at(-1) as Block | null;
  const setTop = (block: Block | null) => {
    stack[stack.length - 1] = block;
  };
  const is = (row: string) => `${row}.tenant_id = ${tenant}`;
  const begin = () => setTop({ pins: [], isIn: 'head', whereAt: null, isOuter: false, expects: false });

  /** Its condition ends here, after `last`. */
  function end(block: Block | null, last: Token | undefined): void {
    if (!block || block.isIn === 'tail') return;
    block.isIn = 'tail';
    block.expects = false;
    if (block.pins.length === 0 || !last) return;
    const pins = block.pins.map(is).join(' and ');
    if (block.whereAt === null) insert(last.to, ` where ${pins}`);
    else {
      insert(block.whereAt, ` ${pins} and (`);
      insert(last.to, ')');
    }
  }

  /** The name that a table has in this statement. */
  function aliasAfter(n: number): string | null {
    let next = list[n + 1];
    if (next?.text === 'as') next = list[n + 2];
    return next?.kind === 'word' && !NOT_A_NAME.has(next.text) && !next.text.includes('.') ? next.text : null;
  }

  for (let n = 0; n < list.length; n += 1) {
    const token = list[n] as Token;
    const before = list[n - 1];
    const block = top();
    if (token.kind === 'open') {
      if (block) block.expects = false;
      stack.push(null);
      continue;
    }
    if (token.kind === 'close') {
      end(block, before);
      stack.pop();
      continue;
    }
    if (token.kind === 'end') {
      end(block, before);
      setTop(null);
      continue;
    }
    if (token.kind === 'comma') {
      if (block?.isIn === 'from') {
        block.expects = true;
        block.isOuter = false;
      }
      continue;
    }
    if (token.kind !== 'word') continue;
    const word = token.text;
    const isRowLock = before !== undefined && ['for', 'key', 'do'].includes(before.text);
    if (word === 'select' || word === 'perform' || (word === 'update' && !isRowLock) || word === 'delete') {
      if (block && block.isIn !== 'tail') end(block, before);
      begin();
      if (word === 'update') Object.assign(top() as Block, { isIn: 'from', expects: true });
      continue;
    }
    if (!block) continue;
    if (ENDS.has(word) || (word === 'on' && list[n + 1]?.text === 'conflict')) {
      // the head of a row lock is the only word of these that may also follow a tail
      end(block, before);
      if (BETWEEN_BLOCKS.has(word) || word === 'loop') setTop(null);
      continue;
    }
    if (block.isIn === 'tail') continue;
    if (word === 'where') {
      block.isIn = 'where';
      block.expects = false;
      block.whereAt = token.to;
    } else if (block.isIn === 'where') continue;
    else if ((word === 'from' && before?.text !== 'distinct') || word === 'using') {
      block.isIn = 'from';
      block.expects = true;
      block.isOuter = false;
    } else if (word === 'set' && block.isIn === 'from') {
      block.isIn = 'head';
      block.expects = false;
    } else if (block.isIn === 'from' && word === 'join') {
      block.expects = true;
      const side = before?.text === 'outer' ? list[n - 2]?.text : before?.text;
      block.isOuter = side === 'left';
    } else if (block.expects && !['only', 'lateral'].includes(word)) {
      block.expects = false;
      const isCall = list[n + 1]?.kind === 'open';
      if (isCall || !isOfTenants(word)) continue;
      const alias = aliasAfter(n);
      const table = word.slice(word.indexOf('.') + 1);
      if (block.isOuter)
        edits.push({
          at: token.at,
          to: token.to,
          text: `(select * from ${text.slice(token.at, token.to)} where tenant_id = ${tenant})${alias === null ? ` ${table}` : ''}`,
        });
      else block.pins.push(alias ?? table);
    }
  }
  end(top(), list.at(-1));
  return applied(text, edits);
}

function applied(text: string, edits: readonly { at: number; to: number; text: string }[]): string {
  let result = '';
  let from = 0;
  // edits at one place stay in their order: what ends there comes before what follows
  for (const edit of edits
    .map((one, order) => ({ ...one, order }))
    .sort((a, b) => a.at - b.at || a.order - b.order)) {
    result += text.slice(from, edit.at) + edit.text;
    from = edit.to;
  }
  return result + text.slice(from);
}
