import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { MusterError } from '../errors.ts';
import { httpError } from './errors.ts';
import { REQUEST_ID, requestId } from './request-id.ts';

/**
 * Input that never becomes a request is answered here, in the form of every other error; then the connection is closed.
 */
const ANSWERS: Record<string, MusterError> = {
  ERR_HTTP_REQUEST_TIMEOUT: httpError('MUSTER_TOO_SLOW', 'The request did not arrive in time.'),
  HPE_HEADER_OVERFLOW: httpError('MUSTER_HEADERS_TOO_LARGE', 'The headers are larger than 64 KiB.'),
};
const NO_HTTP = httpError('MUSTER_BAD_REQUEST', 'This is not a valid HTTP request.');

export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  answer(socket, ANSWERS[error.code ?? ''] ?? NO_HTTP);
}

/** Node would answer these with a bare status, or not at all. */
export function answerOddRequests(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {}); // Node has removed its own listener
    answer(socket, httpError('MUSTER_BAD_REQUEST', 'This server is not a proxy: CONNECT is not allowed.'));
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { code, message, status } = httpError(
      'MUSTER_BAD_EXPECTATION',
      'The Expect header may only be "100-continue".',
    );
    response.writeHead(status, {
      'content-type': 'application/json',
      connection: 'close',
      [REQUEST_ID]: requestId(request),
    });
    response.end(JSON.stringify({ error: message, code }));
  });
}

function answer(socket: Duplex, { code, message, status }: MusterError): void {
  const body = JSON.stringify({ error: message, code });
  // Closed by this side: a client that only sends would otherwise be kept for ever.
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
