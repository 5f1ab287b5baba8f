import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { feedCursor } from '../feed/endpoints.ts';
import { time } from '../values.ts';
import { MUSTER_TENANT } from './session.ts';

/** Hints of what has changed, so that a page asks the ordinary routes for what it shows. */
const liveChanged = z
  .strictObject({
    actions: z.array(z.string()).describe('Their ids.'),
    targets: z.array(z.string()).describe('Whose lanes: `device:12`, `service:5`, `generic:night-jobs`.'),
    notes: z.array(z.string()).describe('Names of what doors have noted.'),
  })
  .describe('event: changed. At most 500 of all together.')
  .meta({ id: 'LiveChanged' });
export type LiveChanged = z.infer<typeof liveChanged>;

const liveNothing = z
  .strictObject({})
  .describe(
    'event: many, more has changed than a message can name; or event: resync, so much was missed that everything must be read anew.',
  )
  .meta({ id: 'LiveNothing' });

const liveTick = z
  .strictObject({
    now: time,
    lag: z.number().min(0).describe('How many seconds the events are behind.'),
    version: z.string().describe('Of the server.'),
  })
  .describe('event: tick, every 5 seconds and at the beginning.')
  .meta({ id: 'LiveTick' });
export type LiveTick = z.infer<typeof liveTick>;

export const live = {
  follow: endpoint({
    method: 'GET',
    path: '/api/live',
    summary: 'A stream of hints: what has changed, at most two messages a second of at most 8 KB',
    query: z.strictObject({
      tenant: z
        .string()
        .regex(/^[1-9]\d{0,9}$/)
        .optional()
        .describe('As the header Muster-Tenant, which an EventSource cannot send.'),
      cursor: feedCursor.optional(),
    }),
    headers: {
      ...MUSTER_TENANT,
      'Last-Event-ID': 'The cursor behind which the stream goes on; browsers send it by themselves.',
    },
    produces: 'text/event-stream',
    responses: {
      200: {
        description: 'Server-sent events; the id of each is a cursor of the event feed.',
        schema: z.union([liveChanged, liveTick, liveNothing]),
      },
    },
  }),
};
