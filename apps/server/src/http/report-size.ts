import { httpError } from './errors.ts';

/** The largest result or error of a report: a page must be able to show a row of history. */
const LARGEST = 65_536;

export function checkReportSize({
  error,
  result,
}: {
  readonly error?: string | undefined;
  readonly result?: unknown;
}): void {
  if (isLarger(error ?? '') || isLarger(result === undefined ? '' : JSON.stringify(result)))
    throw httpError('MUSTER_TOO_LARGE', 'The result or error is larger than 64 KiB.');
}

/** A character has at most four bytes, so short texts are not counted. */
function isLarger(text: string): boolean {
  return text.length > LARGEST / 4 && Buffer.byteLength(text) > LARGEST;
}
