import { z } from 'zod';
import { deviceAction, targets } from '../fleet/requests.ts';
import { name, time } from '../values.ts';

/** Exactly one of the three. */
export const schedule = z
  .union([
    z.strictObject({
      cron: z.string().min(1).max(200).describe('Five fields, or six with seconds first.'),
      timezone: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe('A name such as Europe/Berlin; UTC by default.'),
    }),
    z.strictObject({ at: time }),
    z.strictObject({
      beforeExpiryDays: z.int().min(0).max(36_500).describe('Once per device and expiry date.'),
    }),
  ])
  .meta({ id: 'Schedule' });
export type Schedule = z.infer<typeof schedule>;

const fields = {
  name,
  schedule,
  targets,
  action: deviceAction,
  enabled: z.boolean().optional(),
  catchUp: z
    .enum(['none', 'one', 'all'])
    .optional()
    .describe(
      'Which of the runs that were missed while no server ran to run afterwards: none, the last one, or all.',
    ),
};
export const workflowBody = z.strictObject(fields).meta({ id: 'NewWorkflow' });
export type NewWorkflow = z.infer<typeof workflowBody>;
export const changeBody = z
  .strictObject({
    ...fields,
    name: name.optional(),
    schedule: schedule.optional(),
    targets: targets.optional(),
    action: deviceAction.optional(),
  })
  .meta({ id: 'WorkflowChange' });
export type WorkflowChange = z.infer<typeof changeBody>;
