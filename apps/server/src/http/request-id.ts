import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * What a request is called in the log: as its client says in X-Request-Id, so that both sides find the same line, or a name
 * of ours. It is given back in the same header, so it may be nothing that breaks a header or a line.
 */
export const REQUEST_ID = 'x-request-id';
const WELL_FORMED = /^[\x21-\x7e]{1,200}$/;

export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const said = headers[REQUEST_ID];
  return typeof said === 'string' && WELL_FORMED.test(said) ? said : randomUUID();
}
