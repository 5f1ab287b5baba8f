import type { FastifyRequest } from 'fastify';
import { httpError } from './errors.ts';

const LONGEST_KEY = 255;

/**
 * The header `Idempotency-Key`, if present, as the engine stores it for the tenant: with the route, because two
 * independent clients may number their requests alike.
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
