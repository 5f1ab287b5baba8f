import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { eventType } from '../events.ts';
import { limit, name, time } from '../values.ts';

/** Everything that happened, in an order in which nothing is missed. */
export const feedCursor = z
  .string()
  .max(200)
  .describe('`start`, `end`, or a cursor that the feed has given')
  .meta({ id: 'FeedCursor' });

const feedEvent = z
  .strictObject({
    cursor: z.string().describe('The place behind this event.'),
    type: eventType,
    at: time,
    actionId: z.string().nullable().describe('Null: not about one action.'),
    target: z
      .string()
      .nullable()
      .describe('Whose lane it is: `device:12`, `service:5`, `generic:night-jobs`.'),
    kind: z.string().nullable(),
    channel: z.string().nullable(),
    tags: z.array(z.string()),
    attempt: z.int().min(0),
    worker: z.string().optional(),
    reason: z.string().optional().describe('Of NOTED: what the note is called.'),
    data: z.unknown().optional().describe('Of NOTED: what it says.'),
  })
  .meta({ id: 'FeedEvent' });
export type FeedEvent = z.infer<typeof feedEvent>;

const feedPage = z
  .strictObject({
    events: z.array(feedEvent),
    cursor: z.string().describe('Behind the last event that was looked at, shown or not.'),
    more: z.boolean().describe('There may be more right now, also behind an empty page.'),
  })
  .meta({ id: 'FeedPage' });
export type FeedPage = z.infer<typeof feedPage>;

const query = z.strictObject({
  cursor: feedCursor.optional(),
  limit: limit.optional(),
  target: name.optional().describe('Of whom: `device:12`, `generic:night-jobs`, or a tag (`host:3`)'),
  kind: name.optional(),
  type: eventType.optional(),
});

export const feed = {
  read: endpoint({
    method: 'GET',
    path: '/api/events',
    summary:
      'Everything that happened: a page behind a cursor, or with "Accept: text/event-stream" as it happens',
    query,
    headers: {
      Accept:
        'text/event-stream: a stream of server-sent events that begins behind Last-Event-ID, the cursor, or now.',
      'Last-Event-ID': 'The cursor behind which a stream goes on; browsers send it by themselves.',
    },
    responses: { 200: { description: 'Events in their order, or a stream of them.', schema: feedPage } },
  }),
};
