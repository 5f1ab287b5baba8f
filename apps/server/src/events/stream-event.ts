import type { FeedEvent, FeedSubject } from '@muster/engine';

/** What happened, and to whom. */
export interface StreamEvent extends FeedEvent, FeedSubject {}
