import type { FastifyReply } from 'fastify';

/** Successes other than 200. */
export function created(reply: FastifyReply): void {
  reply.code(201);
}

/** Done, with nothing to show. */
export function gone(reply: FastifyReply): FastifyReply {
  return reply.code(204).send();
}
