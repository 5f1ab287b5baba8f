/** The filter field: `state:failed kind:"ROTATE KEY" tag:batch:7`. Keys with their known values, if any. */
export type FilterKeys = Readonly<Record<string, readonly string[]>>;
type Filter = Record<string, string | undefined>;

const WORD = /([a-zA-Z]+):("[^"]*"|\S*)|("[^"]*"|\S+)/g;
const bare = (text: string) => text.replace(/^"|"$/g, '');

const noFilter = (key: string, keys: FilterKeys) =>
  `There is no filter "${key}". There are ${Object.keys(keys).join(', ')}.`;

/** The address may be typed by hand: an unknown key in it is refused as in the field. */
export function unknownKey(
  search: Readonly<Filter>,
  keys: FilterKeys,
  others: readonly string[],
): string | undefined {
  const key = Object.keys(search).find((one) => !(one in keys) && !others.includes(one));
  return key === undefined ? undefined : noFilter(key, keys);
}

export function readFilter(
  text: string,
  keys: FilterKeys,
  plain?: string,
): { filter: Filter } | { wrong: string } {
  const filter: Filter = Object.fromEntries(Object.keys(keys).map((key) => [key, undefined]));
  const words: string[] = [];
  for (const [whole, key, value, word] of text.matchAll(WORD)) {
    if (key === undefined) {
      words.push(bare(word ?? ''));
      continue;
    }
    const known = keys[key];
    if (known === undefined) return { wrong: noFilter(key, keys) };
    const one = bare(value ?? '');
    if (one === '') return { wrong: `"${whole}" has no value.` };
    if (known.length > 0 && !known.includes(one))
      return { wrong: `${key} is one of ${known.join(', ')}, not "${one}".` };
    filter[key] = one;
  }
  if (words.length === 0) return { filter };
  if (plain === undefined)
    return { wrong: `"${words[0]}" needs a key before it: ${Object.keys(keys).join(', ')}.` };
  // `text:Tablet 0412` means both words
  filter[plain] = [filter[plain], ...words].filter((one) => one !== undefined).join(' ');
  return { filter };
}

export function writeFilter(filter: Readonly<Filter>, keys: FilterKeys, plain?: string): string {
  return Object.keys(keys)
    .filter((key) => filter[key] !== undefined && filter[key] !== '')
    .map((key) => {
      const value = filter[key] ?? '';
      if (key === plain && !value.includes(':')) return value;
      return `${key}:${/\s/.test(value) ? `"${value}"` : value}`;
    })
    .join(' ');
}
