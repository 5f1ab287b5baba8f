import type { Report } from '../report.ts';
import { lastBytes, type Tail } from '../tail.ts';

/**
 * What a script printed, as the result of a device: JSON if it is JSON, else text, never more than the server accepts.
 */
const MOST_RESULT = 65_536;
const LEAST = 1_000;

export function resultOf(stdout: Tail): { result?: unknown } {
  const text = stdout.text().replace(/[\r\n]+$/, '');
  if (text === '') return {};
  if (!stdout.wasCut) {
    const json = parse(text);
    if (json !== undefined && isStorable(json)) return { result: json };
  }
  return { result: fitting(text) };
}

/** The end of a text, cut to fit as JSON, where quotes and line ends take more space. */
export function fitting(text: string, most = MOST_RESULT): string {
  let kept = lastBytes(Buffer.from(text), most - 2);
  for (let over = excess(kept, most); over > 0; over = excess(kept, most))
    kept = lastBytes(Buffer.from(kept), Math.max(1, Buffer.byteLength(kept) - Math.ceil(over / 6)));
  return kept;
}

/** A result that the server refuses (too deep, too large) is replaced: an attempt must not stay without an end. */
export function reduceReport(report: Report, status: number): Report | null {
  if (![400, 413].includes(status)) return null;
  const { message = '', result } = report;
  if (result !== undefined && typeof result !== 'string')
    return { ...report, result: fitting(JSON.stringify(result)) };
  if (typeof result === 'string' && result.length > LEAST) return { ...report, result: result.slice(-LEAST) };
  return message.length > LEAST ? { ...report, message: message.slice(0, LEAST) } : null;
}

function excess(text: string, most: number): number {
  return Buffer.byteLength(JSON.stringify(text)) - most;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** NUL and half characters cannot be stored, and the replacement may be longer. */
function isStorable(json: unknown): boolean {
  const text = JSON.stringify(json);
  return Buffer.byteLength(text) <= MOST_RESULT && !/\\u(?:0000|d[89a-f])/i.test(text);
}
