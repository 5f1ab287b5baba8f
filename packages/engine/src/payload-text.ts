/**
 * A search for a part of payloads, by the database, and of what is shown of one. It finds words inside of texts, and pieces of JSON
 * however they are written: payloads are kept as they were sent, with blanks between their parts or without, and are shown with
 * other blanks, or without quotes. So neither quotes nor backslashes count, nor blanks beside a mark of JSON, and many blanks are one:
 * first, as a search for blanks before a mark would begin anew at each of them, for minutes in a payload of nothing else.
 */
const packed = (json: string) =>
  json
    .replaceAll('\\\\', '')
    .replace(/\\[nrt]/g, ' ')
    .replace(/["\\]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([[\]{}:,]) ?/g, '$1');

/** As it stands in a payload; null: only what does not count, which is found in none. */
export const soughtText = (text: string): string | null => packed(JSON.stringify(text).slice(1, -1)) || null;

/** The payload in column `json` has the sought text `n`. */
export function hasText(json: string, n: string): string {
  const unquoted = String.raw`translate(regexp_replace(replace(${json}::text, '\\', ''), '\\[nrt]', ' ', 'g'), '"\', '')`;
  const packedJson = String.raw`regexp_replace(regexp_replace(${unquoted}, '\s+', ' ', 'g'), ' ?([][{}:,]) ?', '\1', 'g')`;
  return `position(lower(${n}::text) in lower(${packedJson})) > 0`;
}

/** The same of a payload that is at hand, perhaps with parts of it hidden. */
export function saysText(payload: unknown, text: string): boolean {
  const sought = soughtText(text);
  return sought !== null && packed(JSON.stringify(payload)).toLowerCase().includes(sought.toLowerCase());
}
