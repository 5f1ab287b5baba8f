import type { FastifyReply } from 'fastify';

/** Successes other than 200. */
export function created(reply: FastifyReply): void {
  reply.code(201);
}
