import type { FastifyInstance } from 'fastify';

/** Bodies as they came, whatever their content type says: who verifies a signature over them needs each byte of the wire. */
export function takeBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
    request.bodyBytes = body.length;
    done(null, body);
  });
}

const NOTHING = Buffer.alloc(0);

/** Of a request without a body the shell has made an empty object. */
export function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : NOTHING;
}
