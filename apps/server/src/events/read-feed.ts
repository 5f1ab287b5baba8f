import type { Engine, FeedSubject, Queryable } from '@muster/engine';
import type { StreamEvent } from './stream-event.ts';

export interface FeedWish {
  readonly tenantId?: number;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

/** A page of the feed, with the subjects of its events. */
export async function readFeed({ feed }: Pick<Engine, 'feed'>, client: Queryable, wish: FeedWish) {
  const { events, cursor, more } = await feed.read(client, wish);
  const subjects = await feed.describe(client, events);
  return {
    events: events.map((event, n): StreamEvent => ({ ...event, ...(subjects[n] as FeedSubject) })),
    cursor,
    more,
  };
}
