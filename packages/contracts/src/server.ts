import { z } from 'zod';
import { endpoint } from './endpoint.ts';

const status = z.strictObject({ status: z.string() }).meta({ id: 'Status' });

/** The server itself: is it alive, what does it measure, what does it offer? */
export const server = {
  health: endpoint({
    method: 'GET',
    path: '/healthz',
    head: true,
    summary: 'Is the process alive?',
    responses: { 200: { description: 'Yes.', schema: status } },
  }),
  readiness: endpoint({
    method: 'GET',
    path: '/readyz',
    head: true,
    summary: 'Does the database answer, with a schema this version supports?',
    responses: { 200: { description: 'Yes; 503 means no, and the log says why.', schema: status } },
  }),
  metrics: endpoint({
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics in Prometheus format',
    produces: 'text/plain',
    responses: { 200: { description: 'All metrics.', schema: z.string() } },
  }),
  description: endpoint({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This description',
    responses: { 200: { description: 'OpenAPI 3.1.', schema: z.looseObject({ openapi: z.string() }) } },
  }),
};
