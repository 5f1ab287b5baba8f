/**
 * Searches payloads for a text, in the database and in a payload as it is shown. It finds words inside texts, and
 * pieces of JSON however they are written: payloads are stored as they were sent, with or without blanks between their
 * parts, and are shown with other blanks or without quotes. So quotes, backslashes and blanks beside a mark of JSON are
 * ignored, and many blanks count as one. They are collapsed first, because a search for blanks before a mark would
 * restart at each of them: minutes in a payload of nothing else.
 */
const packed = (json: string) =>
  json
    .replaceAll('\\\\', '')
    .replace(/\\[nrt]/g, ' ')
    .replace(/["\\]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([[\]{}:,]) ?/g, '$1');

/** The text as it stands in a payload; null: it has only ignored characters, and matches nothing. */
export const soughtText = (text: string): string | null => packed(JSON.stringify(text).slice(1, -1)) || null;

/** The payload in column `json` has the sought text `n`. */
export function hasText(json: string, n: string): string {
  const unquoted = String.raw`translate(regexp_replace(replace(${json}::text, '\\', ''), '\\[nrt]', ' ', 'g'), '"\', '')`;
  const packedJson = String.raw`regexp_replace(regexp_replace(${unquoted}, '\s+', ' ', 'g'), ' ?([][{}:,]) ?', '\1', 'g')`;
  return `position(lower(${n}::text) in lower(${packedJson})) > 0`;
}

/** The same for a payload at hand, perhaps with parts of it hidden. */
export function saysText(payload: unknown, text: string): boolean {
  const sought = soughtText(text);
  return sought !== null && packed(JSON.stringify(payload)).toLowerCase().includes(sought.toLowerCase());
}
