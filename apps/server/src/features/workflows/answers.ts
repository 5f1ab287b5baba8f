import { z } from 'zod';
import { deviceAction, targets } from '../../fleet/index.ts';
import { time } from '../../http/schemas.ts';
import { schedule } from './schemas.ts';

export const workflow = z.strictObject({
  id: z.string(),
  name: z.string(),
  schedule,
  targets,
  action: deviceAction,
  enabled: z.boolean(),
  catchUp: z.enum(['none', 'one', 'all']),
  nextAt: time.nullable().describe('When it runs next, or is looked at next if it goes by expiry.'),
  createdAt: time,
  createdBy: z.string().nullable(),
});
export const workflows = z.strictObject({ workflows: z.array(workflow), cursor: z.string().nullable() });
export const run = z.strictObject({
  id: z.string(),
  trigger: z.enum(['schedule', 'manual', 'expiry']),
  scheduledAt: time,
  startedAt: time,
  startedBy: z.string().nullable(),
  status: z.enum(['supplying', 'supplied', 'missed']),
  targets: z.int(),
  actions: z.int().describe('How many actions it has made so far.'),
  refused: z.int(),
});
export const runs = z.strictObject({ runs: z.array(run), cursor: z.string().nullable() });
