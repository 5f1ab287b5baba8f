import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { name, time } from '../values.ts';
import { WAITING_FOR_CODES } from '../waiting-for-codes.ts';
import { PROBLEM_CODES, SEARCHED } from './words.ts';

/** What a person wants to know first, from tables that are kept for it: nothing here counts by a scan. */
const count = z.int().min(0);

const statsRow = z
  .strictObject({
    at: time.describe('The beginning of the step.'),
    channel: z.string().nullable().describe('Null: of the whole tenant.'),
    created: count,
    sent: count,
    succeeded: count,
    failed: count.describe('For good: dead letters.'),
    cancelled: count,
    expired: count,
    pending: count.nullable().describe('At the end of the step; null: nobody has looked.'),
    running: count.nullable(),
    oldestAt: time
      .nullable()
      .describe('When the oldest unfinished action was created; of the whole tenant only.'),
  })
  .meta({ id: 'StatsRow' });
export type StatsRow = z.infer<typeof statsRow>;
const stats = z
  .strictObject({
    from: time,
    to: time,
    step: z.literal([60, 900]).describe('In seconds.'),
    rows: z
      .array(statsRow)
      .describe('By time, then by channel; steps in which nothing happened are left out.'),
    countedTo: time.nullable().describe('Up to here the feed has been counted.'),
  })
  .meta({ id: 'Stats' });
export type Stats = z.infer<typeof stats>;

const problem = z
  .strictObject({
    code: z.enum(PROBLEM_CODES),
    count,
    more: z.literal(true).optional().describe('There are more than are counted.'),
    since: time.nullable(),
    text: z.string().describe('The example in a sentence.'),
    example: z
      .strictObject({
        type: z.string().describe('action, device or tag'),
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
    count: count.describe('Lanes whose first action waits for this.'),
    oldestAt: time.describe('When the oldest of these actions was created.'),
    example: z.strictObject({
      actionId: z.string(),
      kind: z.string(),
      space: z.string().nullable(),
      lane: z.string().nullable(),
      text: z.string(),
    }),
  })
  .meta({ id: 'WaitingGroup' });
export type WaitingGroup = z.infer<typeof waitingGroup>;
const waitingLanes = z
  .strictObject({
    groups: z.array(waitingGroup).describe('The largest first.'),
    sampled: count.describe('Of so many lanes the reason was asked.'),
    of: count.describe('So many lanes have something that is unfinished; counted up to 20,000.'),
    at: time,
  })
  .meta({ id: 'WaitingLanes' });
export type WaitingLanes = z.infer<typeof waitingLanes>;

const found = z
  .strictObject({
    type: z.enum(SEARCHED),
    id: z.string(),
    name: z.string(),
    detail: z.string().optional().describe('What else it is known by: a serial number, a state.'),
  })
  .meta({ id: 'Found' });
export type Found = z.infer<typeof found>;
const foundAll = z
  .strictObject({ found: z.array(found).describe('Five of each type at most, of all doors.') })
  .meta({ id: 'FoundAll' });
export type FoundAll = z.infer<typeof foundAll>;

export const overviews = {
  stats: endpoint({
    method: 'GET',
    path: '/api/stats',
    summary: 'What happened in each minute or quarter of an hour, from a table that is kept for it',
    query: z.strictObject({
      from: time.optional().describe('An hour before `to` unless given.'),
      to: time.optional().describe('Now, unless given.'),
      step: z.literal([60, 900]).optional().describe('In seconds; 60 unless given. At most 1,500 steps.'),
      channel: name.optional(),
    }),
    responses: { 200: { description: 'Rows of the tenant, and of each channel.', schema: stats } },
  }),
  overview: endpoint({
    method: 'GET',
    path: '/api/overview',
    summary: 'What a person should look at, the worst first',
    responses: { 200: { description: 'At most two seconds old.', schema: overview } },
  }),
  waiting: endpoint({
    method: 'GET',
    path: '/api/waiting',
    summary: 'Why lanes wait: the reason of the first action of up to 5,000 of them, by reason',
    responses: { 200: { description: 'At most fifteen seconds old.', schema: waitingLanes } },
  }),
  search: endpoint({
    method: 'GET',
    path: '/api/search',
    summary: 'Find something by its id, or by the beginning of its name or serial number',
    query: z.strictObject({ q: z.string().min(1).max(200) }),
    responses: { 200: { description: 'What was found.', schema: foundAll } },
  }),
};
