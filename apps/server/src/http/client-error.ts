import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { httpError } from './errors.ts';
import { REQUEST_ID, requestId } from './request-id.ts';

/** What never becomes a request is answered here, in the form of every other error; then the connection is closed. */
const ANSWERS: Record<string, [status: string, sentence: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are too large.'],
};
const NO_HTTP: [string, string] = ['400 Bad Request', 'This is not a valid HTTP request.'];

export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, sentence] = ANSWERS[error.code ?? ''] ?? NO_HTTP;
  answer(socket, status, sentence);
}

/** Node would answer these with nothing but a status, or not at all. */
export function answerOddRequests(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {}); // nobody else listens any more
    answer(socket, NO_HTTP[0], 'This server is no proxy: CONNECT is not taken.');
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { code, message, status } = httpError(
      'MUSTER_BAD_EXPECTATION',
      'Of Expect only "100-continue" is understood.',
    );
    response.writeHead(status, {
      'content-type': 'application/json',
      connection: 'close',
      [REQUEST_ID]: requestId(request),
    });
    response.end(JSON.stringify({ error: message, code }));
  });
}

function answer(socket: Duplex, status: string, sentence: string): void {
  const body = JSON.stringify({ error: sentence, code: 'MUSTER_BAD_REQUEST' });
  // Closed by this side: a client that only sends would be kept for ever.
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
