import type { ErrorCatalogue } from '@muster/contracts/words';
import { SETTINGS } from '../config.ts';

/**
 * The tables of docs/operations.md and docs/errors.md, made from the code. `npm run generate` writes them, a test
 * compares them.
 */
export function settingsTable(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, { default: fallback, meaning }]) =>
      `| \`${name}\` | ${fallback === null || fallback === '' ? '' : `\`${fallback}\``} | ${meaning} |`,
  );
  return ['| setting | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

export function errorsTable(catalogue: ErrorCatalogue): string {
  const rows = Object.entries(catalogue)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { status, meaning }]) => `| \`${code}\` | ${status} | ${meaning} |`);
  return ['| code | status | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** Puts a table between its marks. */
export function withTable(text: string, mark: string, table: string): string {
  const [begin, end] = [`<!-- ${mark}: made by npm run generate -->\n`, `\n<!-- end of ${mark} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < 0) throw new Error(`The marks of ${mark} are missing.`);
  return text.slice(0, from + begin.length) + table + text.slice(to);
}
