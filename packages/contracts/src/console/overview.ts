import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { name, time } from '../values.ts';
import { WAITING_FOR_CODES } from '../waiting-for-codes.ts';
import { PROBLEM_CODES, SEARCHED } from './words.ts';

/** What an operator wants to know first, from tables kept for it: no count here scans. */
const count = z.int().min(0);

const statsRow = z
  .strictObject({
    at: time.describe('The start of the step.'),
    channel: z.string().nullable().describe('Null: the whole tenant.'),
    created: count,
    sent: count,
    succeeded: count,
    failed: count.describe('Dead letters.'),
    cancelled: count,
    expired: count,
    pending: count.nullable().describe('At the end of the step; null: not measured.'),
    running: count.nullable(),
    oldestAt: time
      .nullable()
      .describe('When the oldest unfinished action was created; for the whole tenant only.'),
  })
  .meta({ id: 'StatsRow' });
export type StatsRow = z.infer<typeof statsRow>;
const stats = z
  .strictObject({
    from: time,
    to: time,
    step: z.literal([60, 900]).describe('In seconds.'),
    rows: z.array(statsRow).describe('By time, then by channel; empty steps are left out.'),
    countedTo: time.nullable().describe('How far the feed has been counted.'),
  })
  .meta({ id: 'Stats' });
export type Stats = z.infer<typeof stats>;

const problem = z
  .strictObject({
    code: z.enum(PROBLEM_CODES),
    count,
    more: z.literal(true).optional().describe('True if there are more than were counted.'),
    since: time.nullable(),
    text: z.string().describe('The example as a sentence.'),
    example: z
      .strictObject({
        type: z.string().describe('action, batch, device, tag, topic, webhook or workflow'),
        id: z.string(),
        name: z.string().optional(),
        kind: z.string().optional(),
        error: z.string().optional(),
      })
      .nullable(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problem>;
const overview = z
  .strictObject({ at: time, problems: z.array(problem).describe('Empty: nothing is wrong.') })
  .meta({ id: 'Overview' });
export type Overview = z.infer<typeof overview>;

const waitingGroup = z
  .strictObject({
    code: z.enum(WAITING_FOR_CODES),
    count: count.describe('Lanes whose first action waits for this reason.'),
    oldestAt: time.describe('When the oldest of these actions was created.'),
    example: z.strictObject({
      actionId: z.string(),
      kind: z.string(),
      name: z
        .string()
        .optional()
        .describe('The display name, if it is not the kind: the command of a phone.'),
      space: z.string().nullable(),
      lane: z.string().nullable(),
      text: z.string(),
    }),
  })
  .meta({ id: 'WaitingGroup' });
export type WaitingGroup = z.infer<typeof waitingGroup>;
const waitingLanes = z
  .strictObject({
    groups: z.array(waitingGroup).describe('Largest first.'),
    sampled: count.describe('How many lanes were examined.'),
    of: count.describe('How many lanes have unfinished actions, counted up to 20,000.'),
    at: time,
  })
  .meta({ id: 'WaitingLanes' });
export type WaitingLanes = z.infer<typeof waitingLanes>;

const found = z
  .strictObject({
    type: z.enum(SEARCHED),
    id: z.string(),
    name: z.string(),
    detail: z.string().optional().describe('Another identifier: a serial number, a state.'),
  })
  .meta({ id: 'Found' });
export type Found = z.infer<typeof found>;
const foundAll = z
  .strictObject({ found: z.array(found).describe('At most five of each type, from all doors.') })
  .meta({ id: 'FoundAll' });
export type FoundAll = z.infer<typeof foundAll>;

export const overviews = {
  stats: endpoint({
    method: 'GET',
    path: '/api/stats',
    summary: 'Count what happened in each minute or quarter of an hour',
    query: z.strictObject({
      from: time.optional().describe('One hour before `to` by default.'),
      to: time.optional().describe('Now by default.'),
      step: z.literal([60, 900]).optional().describe('In seconds; 60 by default. At most 1,500 steps.'),
      channel: name.optional(),
    }),
    responses: { 200: { description: 'Rows for the tenant and for each channel.', schema: stats } },
  }),
  overview: endpoint({
    method: 'GET',
    path: '/api/overview',
    summary: 'List problems that need attention, worst first',
    responses: { 200: { description: 'At most two seconds old.', schema: overview } },
  }),
  waiting: endpoint({
    method: 'GET',
    path: '/api/waiting',
    summary: 'Count why lanes wait, by the first action of up to 5,000 lanes',
    responses: { 200: { description: 'At most 15 seconds old.', schema: waitingLanes } },
  }),
  search: endpoint({
    method: 'GET',
    path: '/api/search',
    summary: 'Search by id, or by the start of a name or serial number',
    query: z.strictObject({ q: z.string().min(1).max(200) }),
    responses: { 200: { description: 'The matches.', schema: foundAll } },
  }),
};
