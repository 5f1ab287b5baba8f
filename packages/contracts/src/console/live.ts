import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { feedCursor } from '../feed/endpoints.ts';
import { time } from '../values.ts';
import { MUSTER_TENANT } from './session.ts';

/** Hints about changes, after which a page reads the ordinary routes. */
const liveChanged = z
  .strictObject({
    actions: z.array(z.string()).describe('Their ids.'),
    targets: z
      .array(z.string())
      .describe('The owners of the lanes: `device:12`, `service:5`, `generic:night-jobs`.'),
    notes: z.array(z.string()).describe('Names of notes from doors.'),
  })
  .describe('event: changed. At most 500 entries in all.')
  .meta({ id: 'LiveChanged' });
export type LiveChanged = z.infer<typeof liveChanged>;

const liveNothing = z
  .strictObject({})
  .describe(
    'event: many: more changed than one message can name. event: resync: too many events were missed; read everything again.',
  )
  .meta({ id: 'LiveNothing' });

const liveTick = z
  .strictObject({
    now: time.describe('The time of the server.'),
    lag: z.number().min(0).describe('How many seconds the event feed lags.'),
    version: z.string().describe('The version of the server.'),
  })
  .describe('event: tick, at the start and every 5 seconds.')
  .meta({ id: 'LiveTick' });
export type LiveTick = z.infer<typeof liveTick>;

export const live = {
  follow: endpoint({
    method: 'GET',
    path: '/api/live',
    summary: 'Stream hints about what has changed: at most two messages a second of at most 8 KB',
    query: z.strictObject({
      tenant: z
        .string()
        .regex(/^[1-9]\d{0,9}$/)
        .optional()
        .describe('Same as the header Muster-Tenant, which an EventSource cannot send.'),
      cursor: feedCursor.optional(),
    }),
    headers: {
      ...MUSTER_TENANT,
      'Last-Event-ID': 'The cursor after which the stream continues; browsers send it automatically.',
    },
    produces: 'text/event-stream',
    responses: {
      200: {
        description: 'Server-sent events; each id is a cursor of the event feed.',
        schema: z.union([liveChanged, liveTick, liveNothing]),
      },
    },
  }),
};
