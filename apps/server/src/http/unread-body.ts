import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Bodies that are not read: of refused requests, or where none is wanted. Node would read them to their end, whatever
 * their length, and if reading stops halfway, the next request of the connection is never reached. Here a little is
 * read, so the connection can be used again; if there is more, it is closed.
 */
export interface UnreadLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** True: read to its end. False: too long, too slow, or the client is gone. */
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

/** A hook that runs before an answer is sent. A route that answers while it reads handles its own body. */
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

/** The client gets the whole answer at once; the connection is closed only after part of its body was read. */
async function* lingering(payload: string, whole: Promise<boolean>): AsyncGenerator<string> {
  yield payload;
  await whole;
}
