import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Bodies that nobody reads: of refused requests, or where none is wanted. Node itself reads them to their end, whatever
 * their length, and if somebody stopped in the middle it never comes to the next request of the connection. Here a
 * little is read, so that the connection can be used again, and past that it is closed.
 */
export interface UnreadLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** True: it has come to its end. False: it is too long or too slow, or the client is gone. */
export function drain(body: IncomingMessage, { bytes, ms }: UnreadLimits): Promise<boolean> {
  if (body.readableEnded || body.destroyed) return Promise.resolve(body.readableEnded);
  return new Promise((resolve) => {
    let left = bytes;
    const timer = setTimeout(over, ms);
    function over(): void {
      clearTimeout(timer);
      body.off('data', count).off('end', over).off('close', over).pause();
      resolve(body.readableEnded);
    }
    function count(chunk: Buffer): void {
      left -= chunk.length;
      if (left < 0) over();
    }
    body.on('data', count).on('end', over).on('close', over).resume();
  });
}

export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** As a hook before an answer is sent. A route that answers while it reads sees to its body itself. */
export function settleUnreadBodies(limits: UnreadLimits) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ): void => {
    const { raw } = request;
    if (raw.readableEnded || !announcesBody(raw) || typeof payload !== 'string') {
      done(null, payload);
      return;
    }
    const whole = drain(raw, limits);
    if (Number(raw.headers['content-length'] ?? 0) > limits.bytes) reply.header('connection', 'close');
    if (reply.getHeader('connection') === 'close') {
      reply.header('content-length', Buffer.byteLength(payload));
      done(null, Readable.from(lingering(payload, whole)));
      return;
    }
    void whole.then((isWhole) => isWhole || raw.socket.destroySoon());
    done(null, payload);
  };
}

/** The client has the whole answer at once; the connection is closed only when some of its body was read. */
async function* lingering(payload: string, whole: Promise<boolean>): AsyncGenerator<string> {
  yield payload;
  await whole;
}
