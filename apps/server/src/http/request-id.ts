import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * The name of a request in the log: the client's X-Request-Id, so both sides find the same line, or one of ours. The
 * answer returns it in the same header, so it must not break a header or a log line.
 */
export const REQUEST_ID = 'x-request-id';
const WELL_FORMED = /^[\x21-\x7e]{1,200}$/;

export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const said = headers[REQUEST_ID];
  return typeof said === 'string' && WELL_FORMED.test(said) ? said : randomUUID();
}
