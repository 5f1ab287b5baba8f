import { z } from 'zod';
import { deviceAction, targets } from '../fleet/requests.ts';
import { nextCursor, time } from '../values.ts';
import { schedule } from './requests.ts';

/** Response schemas; a test compares every response with them. */
export const run = z
  .strictObject({
    id: z.string(),
    trigger: z.enum(['schedule', 'manual', 'expiry']),
    scheduledAt: time,
    startedAt: time,
    startedBy: z.string().nullable(),
    status: z.enum(['supplying', 'supplied', 'missed', 'cancelled']),
    targets: z.int(),
    actions: z.int().describe('How many actions it has created so far.'),
    waiting: z.int().describe('How many are not handed out yet: cancelling the run cancels these.'),
    sent: z.int().describe('Handed out and not ended.'),
    done: z.int(),
    failed: z.int().describe('Dead letters, and those that expired.'),
    cancelled: z.int(),
    refused: z.int(),
  })
  .meta({ id: 'WorkflowRun' });
export type WorkflowRun = z.infer<typeof run>;
export const workflow = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    schedule,
    scheduleText: z.string().describe('The schedule in words: "Every day at 03:00, Europe/Berlin".'),
    targets,
    action: deviceAction,
    enabled: z.boolean(),
    catchUp: z.enum(['none', 'one', 'all']),
    nextAt: time.nullable().describe('The next run, or for a schedule by expiry the next check.'),
    lastRun: run.nullable().describe('The newest run; null: there was none yet.'),
    createdAt: time,
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'Workflow' });
export type Workflow = z.infer<typeof workflow>;
export const workflowPage = z
  .strictObject({ workflows: z.array(workflow), cursor: nextCursor })
  .meta({ id: 'WorkflowPage' });
export type WorkflowPage = z.infer<typeof workflowPage>;
export const runPage = z
  .strictObject({ runs: z.array(run), cursor: nextCursor })
  .meta({ id: 'WorkflowRunPage' });
export type WorkflowRunPage = z.infer<typeof runPage>;
