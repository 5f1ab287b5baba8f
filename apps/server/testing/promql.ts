/**
 * What a PromQL expression names: its metrics, the labels of their matchers, those it groups or joins by. Not a whole parser:
 * enough for the rules and dashboards of this repository, and what it does not know it refuses.
 */
export interface Named {
  /** Of each metric, the labels of its matchers with what they are compared with. */
  readonly metrics: readonly {
    readonly name: string;
    readonly matchers: readonly { readonly label: string; readonly op: string; readonly value: string }[];
  }[];
  /** Labels of `by`, `on` and the like. */
  readonly labels: readonly string[];
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\d[\w.]*|[a-zA-Z_:][\w:]*|=~|!~|!=|>=|<=|==|[-+*/%^(){},=<>]/g;
const GROUPING = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const KEYWORDS = new Set(['and', 'or', 'unless', 'offset', 'bool']);
const FUNCTIONS = new Set([
  ...['sum', 'min', 'max', 'avg', 'count', 'topk'],
  ...['rate', 'increase', 'absent', 'time', 'vector', 'histogram_quantile'],
]);

export function namesOf(expression: string): Named {
  const rest = expression.replace(TOKEN, '').trim();
  if (rest !== '') throw new Error(`Not understood: ${rest} in ${expression}`);
  const tokens: readonly string[] = expression.match(TOKEN) ?? [];
  const metrics: Named['metrics'][number][] = [];
  const labels: string[] = [];
  /** The tokens between the bracket at this place and the one that closes it. */
  const inside = (at: number, close: string) => {
    const end = tokens.indexOf(close, at);
    if (end < 0) throw new Error(`${close} is missing in ${expression}`);
    return tokens.slice(at + 1, end);
  };
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as string;
    if (!/^[a-zA-Z_:]/.test(token) || KEYWORDS.has(token) || FUNCTIONS.has(token)) continue;
    if (GROUPING.has(token)) {
      const list = inside(at + 1, ')');
      labels.push(...list.filter((one) => one !== ','));
      at += list.length + 2;
    } else if (tokens[at + 1] === '{') {
      const given = inside(at + 1, '}');
      const matchers: Named['metrics'][number]['matchers'][number][] = [];
      for (let n = 0; n < given.length; n += 4) {
        const [label, op, value] = given.slice(n, n + 3) as [string, string, string];
        matchers.push({ label, op, value: JSON.parse(value) as string });
      }
      metrics.push({ name: token, matchers });
      at += given.length + 2;
    } else metrics.push({ name: token, matchers: [] });
  }
  return { metrics, labels };
}
