import { httpError } from './errors.ts';

/** What a report may carry. A row of a history must stay one that a page can show. */
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

/** A character has four bytes at most: short texts are not counted. */
function isLarger(text: string): boolean {
  return text.length > LARGEST / 4 && Buffer.byteLength(text) > LARGEST;
}
