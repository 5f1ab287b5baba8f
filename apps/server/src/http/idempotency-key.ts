import type { FastifyRequest } from 'fastify';
import { httpError } from './errors.ts';

const LONGEST_KEY = 255;

/**
 * The header `Idempotency-Key`, if there is one, as the engine keeps it for the tenant: with the route, because two clients that
 * know nothing of each other may count their requests alike.
 */
export function readIdempotencyKey(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  const key = [header].flat().join(', ');
  if (!/^[\x20-\x7e]+$/.test(key) || key.length > LONGEST_KEY)
    throw httpError(
      'MUSTER_BAD_HEADER',
      `Idempotency-Key must have from 1 to ${LONGEST_KEY} ASCII characters.`,
    );
  return `${request.method} ${request.routeOptions.url} ${key}`;
}
