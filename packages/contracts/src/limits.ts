import { z } from 'zod';
import { endpoint } from './endpoint.ts';

const limitSet = z
  .strictObject({
    setting: z.string().describe('The setting of the server, as in docs/operations.md.'),
    value: z.int(),
    default: z.int(),
    meaning: z.string(),
  })
  .meta({ id: 'ServerLimit' });
const limitList = z.strictObject({ limits: z.array(limitSet) }).meta({ id: 'ServerLimits' });
export type Limits = z.infer<typeof limitList>;

/** Why was it refused, ended or deleted? */
export const limits = {
  list: endpoint({
    method: 'GET',
    path: '/api/limits',
    summary: 'List the limits of this server',
    responses: { 200: { description: 'All of them, with their defaults.', schema: limitList } },
  }),
};
