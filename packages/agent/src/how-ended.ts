import { CANCELLED, GIVEN_UP } from './attempts.ts';
import type { Report } from './report.ts';

/**
 * The end of an attempt as a sentence for the log, with the first line of a failure's reason. A command's output is in
 * the lines below and in `output`; it only goes to the server, because it may hold secrets. What the server asked for
 * is not a failure.
 */
const MOST = 200;

/** `late`: why the server did not count it. */
export function howEnded(report: Report, late?: string): string {
  const { message = '', status } = report;
  if (message.startsWith(CANCELLED)) return 'cancelled.';
  if (message.startsWith(GIVEN_UP)) return 'stopped, because the server had given it up.';
  const givenUp = late === undefined ? '' : `, but the server had given it up (${late})`;
  return `${status}${givenUp}${whyFailed(report)}`;
}

function whyFailed({ exitCode, message, status }: Report): string {
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
