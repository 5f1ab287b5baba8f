const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A sentence of the server in parts: its times are in ISO form, and people want them in their zone. */
export function timesIn(text: string): ({ readonly text: string } | { readonly at: string })[] {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(ISO)) {
    parts.push({ text: text.slice(from, match.index) }, { at: match[0] });
    from = match.index + match[0].length;
  }
  return [...parts, { text: text.slice(from) }];
}
