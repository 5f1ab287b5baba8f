import type { FeedEvent, FeedSubject } from '@muster/engine';

/** An event and its subject. */
export interface StreamEvent extends FeedEvent, FeedSubject {}
