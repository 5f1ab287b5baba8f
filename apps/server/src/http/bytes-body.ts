import type { FastifyInstance } from 'fastify';

/** Bodies as raw bytes, whatever their content type: verifying a signature over a body needs each byte as sent. */
export function takeBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    request.bodyBytes = body.length;
    done(null, body);
  });
}

const NOTHING = Buffer.alloc(0);

/** The shell makes a missing body an empty object. */
export function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : NOTHING;
}
