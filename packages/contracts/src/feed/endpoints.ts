import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { eventType } from '../events.ts';
import { limit, name, time } from '../values.ts';

/** Everything that happened, in an order in which nothing is missed. */
export const feedCursor = z
  .string()
  .max(200)
  .describe('`start`, `end`, or a cursor from the feed')
  .meta({ id: 'FeedCursor' });

const feedEvent = z
  .strictObject({
    cursor: z.string().describe('The position after this event.'),
    type: eventType,
    at: time,
    actionId: z.string().nullable().describe('Null: not about a single action.'),
    target: z
      .string()
      .nullable()
      .describe('The owner of its lane: `device:12`, `service:5`, `generic:night-jobs`.'),
    kind: z.string().nullable(),
    channel: z.string().nullable(),
    tags: z.array(z.string()),
    attempt: z.int().min(0),
    worker: z.string().optional(),
    reason: z.string().optional().describe('For NOTED: the name of the note.'),
    data: z.unknown().optional().describe('For NOTED: its content.'),
  })
  .meta({ id: 'FeedEvent' });
export type FeedEvent = z.infer<typeof feedEvent>;

const feedPage = z
  .strictObject({
    events: z.array(feedEvent),
    cursor: z.string().describe('After the last event examined, shown or not.'),
    more: z.boolean().describe('More events may be available now, even after an empty page.'),
  })
  .meta({ id: 'FeedPage' });
export type FeedPage = z.infer<typeof feedPage>;

const query = z.strictObject({
  cursor: feedCursor.optional(),
  limit: limit.optional(),
  target: name
    .optional()
    .describe('Only events of this target or tag: `device:12`, `generic:night-jobs`, or a tag (`host:3`)'),
  kind: name.optional(),
  type: eventType.optional(),
});

export const feed = {
  read: endpoint({
    method: 'GET',
    path: '/api/events',
    summary: 'Read events after a cursor, or stream them with "Accept: text/event-stream"',
    query,
    headers: {
      Accept:
        'text/event-stream: server-sent events that start after Last-Event-ID, after the cursor, or now.',
      'Last-Event-ID': 'The cursor after which the stream continues; browsers send it automatically.',
    },
    responses: { 200: { description: 'Events in order, or a stream of them.', schema: feedPage } },
  }),
};
