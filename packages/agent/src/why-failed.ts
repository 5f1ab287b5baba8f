import type { Report } from './report.ts';

/**
 * The end of a sentence in the log, with the reason of a failure: its first line. What a command printed is in the lines
 * below and in the output, goes to the server alone, and may hold secrets.
 */
const MOST = 200;

export function whyFailed({ exitCode, message, status }: Report): string {
  if (status === 'succeeded') return '.';
  const [line = ''] = (message ?? '').trimStart().split(/[\r\n]/, 1);
  const reason = printable(line).trim().slice(0, MOST);
  if (reason !== '') return `: ${reason}${/[.!?…]$/.test(reason) ? '' : '.'}`;
  return exitCode === undefined ? '.' : `: it ended with code ${exitCode}.`;
}

/** Names in it come from the server; a terminal must not take them for orders. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
