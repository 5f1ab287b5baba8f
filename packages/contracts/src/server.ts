import { z } from 'zod';
import { endpoint } from './endpoint.ts';

const status = z.strictObject({ status: z.string() }).meta({ id: 'Status' });

/** The server itself: is it alive, what does it measure, what does it offer? */
export const server = {
  health: endpoint({
    method: 'GET',
    path: '/healthz',
    head: true,
    summary: 'Check that the process is alive',
    responses: { 200: { description: 'Yes.', schema: status } },
  }),
  readiness: endpoint({
    method: 'GET',
    path: '/readyz',
    head: true,
    summary: 'Check that the database answers, its schema is supported, and the node is not draining',
    responses: {
      200: { description: 'Yes; 503 means no, and the body and the log say why.', schema: status },
    },
  }),
  metrics: endpoint({
    method: 'GET',
    path: '/metrics',
    summary: 'Get metrics in Prometheus format',
    produces: 'text/plain',
    responses: { 200: { description: 'All metrics.', schema: z.string() } },
  }),
  description: endpoint({
    method: 'GET',
    path: '/openapi.json',
    summary: 'Get this description',
    responses: { 200: { description: 'OpenAPI 3.1.', schema: z.looseObject({ openapi: z.string() }) } },
  }),
};
