import { type Engine, EngineError, type Queryable } from '@muster/engine';
import type { DoorEvents } from '../../events/door-events.ts';
import { readFeed } from '../../events/read-feed.ts';
import { Matching } from './matching.ts';
import type { Place, PlaceQueries } from './place-queries.ts';
import type { WebhookKey, WebhookQueries } from './queries.ts';
import type { NewDelivery, Queueing } from './queueing.ts';
import { cloudEvent, type Told, toldOf } from './told-events.ts';

/** Events of one read, and deliveries of one transaction. An event that many webhooks want makes a page of its own. */
const PAGE = 500;
const MOST_DELIVERIES = 1_000;

/** quiet: nothing more now. nobody: no webhook is at the shared place. */
export type Read = 'more' | 'quiet' | 'nobody';

export type Reading = ReturnType<typeof createReading>;

/**
 * Reads the feed and queues what webhooks want of it, in one transaction with the new place: a page is queued as a
 * whole and once, even if a node dies or several do it at the same time.
 */
export function createReading(tools: {
  doors: DoorEvents;
  engine: Engine;
  places: PlaceQueries;
  queries: WebhookQueries;
  queue: Queueing;
}) {
  const { doors, engine, places, queries, queue } = tools;
  let known: { version: string; matching: Matching } | undefined;

  /** Of the webhooks at the shared place; read again when one has changed. */
  async function matchingOf(tx: Queryable, { version }: Place): Promise<Matching> {
    if (known?.version !== version) {
      const webhooks = await queries.active(tx);
      known = { version, matching: new Matching(webhooks.filter(({ cursor }) => cursor === null)) };
    }
    return known.matching;
  }

  /** Queues deliveries for these events. Returns the event it stopped after, if it had to. */
  async function queueFor(tx: Queryable, told: readonly Told[], matching: Matching): Promise<Told | null> {
    const deliveries: NewDelivery[] = [];
    let stoppedAt: Told | null = null;
    for (const one of told) {
      // the deliveries of one event stay together: its place lies after all of them
      if (deliveries.length >= MOST_DELIVERIES && stoppedAt && one.cursor !== stoppedAt.cursor) break;
      const event = cloudEvent(one);
      for (const webhook of matching.of(one)) deliveries.push({ webhook, key: one.key, event });
      stoppedAt = one;
    }
    await queue(tx, deliveries);
    return stoppedAt === told.at(-1) ? null : stoppedAt;
  }

  async function pageOf(tx: Queryable, from: { cursor: string; tenantId?: number }, matching: Matching) {
    const page = await readFeed(engine, tx, { ...from, limit: PAGE });
    const events = page.events.filter(({ tenantId }) => matching.isFor(tenantId));
    return { ...page, told: await toldOf(tx, { doors, engine }, events) };
  }

  async function readOn(tx: Queryable, place: Place): Promise<Read> {
    const matching = await matchingOf(tx, place);
    if (matching.isEmpty) return 'nobody';
    const page = await pageOf(tx, { cursor: place.cursor }, matching);
    const stoppedAt = await queueFor(tx, page.told, matching);
    const cursor = stoppedAt?.cursor ?? page.cursor;
    if (cursor === place.cursor) return 'quiet';
    await places.move(tx, cursor);
    return page.more || stoppedAt ? 'more' : 'quiet';
  }

  const others = (tx: Queryable) => places.lock(tx, () => engine.feed.cursor(tx, 'end'));
  const beginAnew = async (tx: Queryable, place: Place) =>
    places.beginAnew(tx, place, await engine.feed.cursor(tx, 'start'));

  /** It is ahead of the shared place: the others read up to it, or there are none. */
  async function meet(tx: Queryable, ahead: WebhookKey & { cursor: string }, place: Place): Promise<boolean> {
    if (!(await matchingOf(tx, place)).isEmpty) return false;
    await places.move(tx, ahead.cursor);
    if (!(await places.moveBehind(tx, ahead, null))) throw new Overtaken();
    await places.change(tx);
    return true;
  }

  /** One step of a webhook with its own place; false: none can be made now. */
  async function catchUp(tx: Queryable, behind: WebhookKey & { cursor: string }): Promise<boolean> {
    const { tenantId, cursor } = behind;
    const webhook = await queries.get(tx, behind);
    if (!webhook) return false;
    const matching = new Matching([webhook]);
    let page = await pageOf(tx, { tenantId, cursor }, matching);
    // near the end: from here on no other transaction reads, so it gets the events up to the shared place, and the rest
    // with the others
    const place = page.more ? null : await others(tx);
    if (place) page = await pageOf(tx, { tenantId, cursor }, matching);
    if (place && engine.feed.isBefore(place.cursor, cursor)) return meet(tx, behind, place);
    const isJoining = place !== null && (!page.more || engine.feed.isBefore(place.cursor, page.cursor));
    const told = isJoining
      ? page.told.filter((one) => !engine.feed.isBefore(place.cursor, one.cursor))
      : page.told;
    const stoppedAt = await queueFor(tx, told, matching);
    const last = stoppedAt ?? told.at(-1);
    const to =
      isJoining && !stoppedAt ? null : { cursor: stoppedAt?.cursor ?? page.cursor, at: last?.at ?? null };
    if (!(await places.moveBehind(tx, behind, to))) throw new Overtaken();
    if (to === null) await places.change(tx);
    return true;
  }

  return {
    /** A page for all that are not behind. */
    readOn: (): Promise<Read> =>
      engine.db.transaction(async (tx) => {
        const place = await places.tryLock(tx);
        if (!place) return (await places.version(tx)) === null ? 'nobody' : 'quiet';
        return readOn(tx, place).catch(async (error) => {
          if (!isForeign(error)) throw error;
          await beginAnew(tx, place);
          return 'more' as const;
        });
      }),

    /** One step of a webhook with its own place, the next after `after`; null: there is none. */
    async catchUpNext(after: WebhookKey | null): Promise<{ of: WebhookKey; isMore: boolean } | null> {
      const of = await places.behind(engine.db, after);
      if (!of) return null;
      try {
        return { of, isMore: await engine.db.transaction((tx) => catchUp(tx, of)) };
      } catch (error) {
        if (isForeign(error)) await engine.db.transaction(async (tx) => beginAnew(tx, await others(tx)));
        else if (!(error instanceof Overtaken)) throw error;
        return { of, isMore: true };
      }
    },
  };
}

const isForeign = (error: unknown) =>
  error instanceof EngineError && error.code === 'MUSTER_OTHER_INCARNATION';

/** Another node has queued the same page, or the webhook was paused: rolled back. */
class Overtaken extends Error {}
