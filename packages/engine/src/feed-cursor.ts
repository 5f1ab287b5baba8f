import { EngineError } from './errors.ts';

/**
 * A place in the feed: after which event of which transaction, in which life of the database. Opaque to its reader;
 * the leading number lets a later version recognise its own form.
 */
export interface FeedPlace {
  readonly incarnation: string;
  readonly xid: string;
  readonly eventId: string;
}

const VERSION = '1';
const FORM = /^1\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/(0|[1-9]\d{0,19})\/(0|[1-9]\d{0,18})$/;
const LARGEST_XID = 2n ** 64n - 1n;
const LARGEST_EVENT = 2n ** 63n - 1n;

export function writeCursor({ incarnation, xid, eventId }: FeedPlace): string {
  return Buffer.from(`${VERSION}/${incarnation}/${xid}/${eventId}`).toString('base64url');
}

export function readCursor(cursor: string): FeedPlace {
  const match = typeof cursor === 'string' ? FORM.exec(Buffer.from(cursor, 'base64url').toString()) : null;
  const [, incarnation, xid, eventId] = match ?? [];
  const isPlace =
    incarnation !== undefined &&
    xid !== undefined &&
    eventId !== undefined &&
    BigInt(xid) <= LARGEST_XID &&
    BigInt(eventId) <= LARGEST_EVENT;
  // the decoder ignores what it does not know, so only a cursor that encodes to the same text is valid
  if (!isPlace || writeCursor({ incarnation, xid, eventId }) !== cursor)
    throw new EngineError('MUSTER_BAD_VALUE', 'This is not a cursor of the event feed.');
  return { incarnation, xid, eventId };
}

/** Whether `a` is before `b`, within one life of the database. */
export function isBefore(a: FeedPlace, b: FeedPlace): boolean {
  const [x, y] = [BigInt(a.xid), BigInt(b.xid)];
  return x === y ? BigInt(a.eventId) < BigInt(b.eventId) : x < y;
}
