import type { NewWebhook, ReplayWebhook, WebhookPatch } from '@muster/contracts';
import { type Engine, isTransaction, type Queryable } from '@muster/engine';
import type { Alerts } from '../../alerts/alerts.ts';
import { httpError } from '../../http/errors.ts';
import { isId } from '../../http/ids.ts';
import type { Outgoing } from '../../outgoing/outgoing.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import { FORMER_SECRET_MS, LANES, MOST_WEBHOOKS, SLOTS, WEBHOOKS } from './channel.ts';
import type { Deliveries, DeliveryRow } from './deliveries.ts';
import { unknownDelivery, unknownWebhook, webhookError } from './errors.ts';
import type { Place, PlaceQueries } from './place-queries.ts';
import type { WebhookKey, WebhookQueries, WebhookRow } from './queries.ts';
import type { Queueing } from './queueing.ts';
import { refuseVain } from './refuse-vain.ts';
import { makeSecret } from './secrets.ts';

/** Operations on webhooks. Every change holds the shared place, so it lies between two pages of the feed. */
const MOST_REPLAYED = 500;

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks(tools: {
  alerts: Alerts;
  deliveries: Deliveries;
  engine: Engine;
  outgoing: Outgoing;
  places: PlaceQueries;
  queries: WebhookQueries;
  queue: Queueing;
  secrets: Secrets;
  /** Called after the commit of a change. */
  changed: () => void;
}) {
  const { alerts, changed, deliveries, engine, outgoing, places, queries, queue, secrets } = tools;

  const known = async (client: Queryable, tenantId: number, id: string) => {
    const row = isId(id) ? await queries.get(client, { tenantId, webhookId: id }) : null;
    if (!row) throw unknownWebhook();
    return row;
  };

  async function hold(tx: Queryable): Promise<Place> {
    const place = await places.lock(tx, () => engine.feed.cursor(tx, 'end'));
    await places.change(tx);
    if (isTransaction(tx)) tx.afterCommit(changed);
    return place;
  }

  function checkUrl(given: string): string {
    const url = outgoing.check(given);
    if (typeof url === 'string') throw webhookError('MUSTER_BAD_WEBHOOK_URL', `The address ${url}`);
    url.hash = '';
    return url.toString();
  }

  async function makeLanes(tx: Queryable, { tenantId, webhookId }: WebhookKey) {
    const names = Array.from({ length: LANES }, (_, n) => `${webhookId}/${n}`);
    const laneIds = await engine.ensureLanes(tx, tenantId, WEBHOOKS, names);
    const runnerId = await engine.createRunner(tx, tenantId, SLOTS);
    await engine.assignRunners(
      tx,
      tenantId,
      laneIds.map((laneId) => ({ laneId, runnerId })),
    );
    return { laneIds, runnerId };
  }

  async function pause(
    tx: Queryable,
    key: WebhookKey,
    by: 'operator' | 'failures',
    reason: string,
  ): Promise<boolean> {
    const { cursor, readAt: cursorAt } = await hold(tx);
    return queries.pause(tx, key, { by, reason, cursor, cursorAt });
  }

  const again = (webhook: WebhookRow, { actionId, payload }: DeliveryRow) =>
    payload === null ? [] : [{ webhook, key: payload.key, event: payload.event, replayOf: actionId }];

  return {
    known,

    /** Starts at the end of the feed, where the shared place is or will be. */
    async create(tx: Queryable, tenantId: number, given: NewWebhook, createdBy: string) {
      const url = checkUrl(given.url);
      refuseVain({ events: given.events, filter: given.filter ?? {} });
      await hold(tx);
      if ((await queries.count(tx, tenantId)) >= MOST_WEBHOOKS)
        throw webhookError(
          'MUSTER_TOO_MANY_WEBHOOKS',
          `A tenant can have at most ${MOST_WEBHOOKS} webhooks.`,
        );
      const webhookId = await queries.newId(tx);
      const key = { tenantId, webhookId };
      const { sealed, secret } = makeSecret(secrets, key);
      const { events, filter = {}, name = null } = given;
      await queries.insert(tx, {
        ...key,
        ...{
          name,
          url,
          events,
          filter,
          secret: sealed,
          createdBy,
          cursor: await engine.feed.cursor(tx, 'end'),
        },
        ...(await makeLanes(tx, key)),
      });
      return { webhookId, secret };
    },

    async update(tx: Queryable, tenantId: number, id: string, to: WebhookPatch): Promise<void> {
      const url = to.url === undefined ? undefined : checkUrl(to.url);
      await hold(tx);
      const row = await known(tx, tenantId, id);
      refuseVain({ events: to.events ?? row.events, filter: to.filter ?? row.filter });
      await queries.update(tx, row, { ...to, url });
    },

    /** Cancels its waiting deliveries; its lanes belong to no webhook from then on. */
    async remove(tx: Queryable, tenantId: number, id: string): Promise<void> {
      await hold(tx);
      const row = await known(tx, tenantId, id);
      await queries.remove(tx, row);
      for (const laneId of await queries.lanesInUse(tx, row))
        await engine.cancelMatching(
          tx,
          { tenantId, laneId, state: 'unfinished' },
          'The webhook was deleted.',
        );
      await engine.assignRunners(
        tx,
        tenantId,
        row.laneIds.map((laneId) => ({ laneId, runnerId: null })),
      );
    },

    async pause(tx: Queryable, tenantId: number, id: string, reason: string | undefined): Promise<boolean> {
      return pause(tx, await known(tx, tenantId, id), 'operator', reason ?? 'Paused by an operator.');
    },

    /** Pauses an endpoint that accepts nothing. */
    async pauseDead(tx: Queryable, key: WebhookKey, reason: string): Promise<void> {
      if (!(await pause(tx, key, 'failures', reason))) return;
      const row = await queries.get(tx, key);
      await alerts.raise(tx, {
        tenantId: key.tenantId,
        name: 'endpoint.dead',
        text: `Webhook ${row?.name ?? key.webhookId} was paused. ${reason}`,
        data: { webhookId: key.webhookId },
      });
    },

    async resume(tx: Queryable, tenantId: number, id: string, skipMissed: boolean): Promise<boolean> {
      await hold(tx);
      const from = skipMissed ? await engine.feed.cursor(tx, 'end') : null;
      return queries.resume(tx, await known(tx, tenantId, id), from);
    },

    async rotateSecret(tx: Queryable, tenantId: number, id: string) {
      const row = await known(tx, tenantId, id);
      const { sealed, secret } = makeSecret(secrets, row);
      const formerUntil = new Date(engine.now().getTime() + FORMER_SECRET_MS);
      await queries.setSecret(tx, row, sealed, formerUntil);
      return { secret, formerUntil };
    },

    async replayOne(tx: Queryable, tenantId: number, id: string, deliveryId: string): Promise<string> {
      const row = await known(tx, tenantId, id);
      const delivery = isId(deliveryId) ? await deliveries.get(tx, row, deliveryId) : null;
      if (!delivery) throw unknownDelivery();
      const [actionId] = await queue(tx, again(row, delivery));
      if (actionId === undefined)
        throw webhookError('MUSTER_DELIVERY_FORGOTTEN', 'The delivery is no longer kept.');
      return actionId;
    },

    /** Replays a time range, part by part. Waiting deliveries are not repeated: they are sent anyway. */
    async replay(
      tx: Queryable,
      tenantId: number,
      id: string,
      { cursor: after, failed = false, from, to }: ReplayWebhook,
    ) {
      const row = await known(tx, tenantId, id);
      if (Date.parse(from) > Date.parse(to)) throw httpError('MUSTER_BAD_BODY', 'from must not be after to.');
      const found = await deliveries.inRange(tx, row, { from, to, failed, after, limit: MOST_REPLAYED });
      const ids = await queue(
        tx,
        found.rows.flatMap((delivery) => again(row, delivery)),
      );
      return { replayed: ids.length, cursor: found.cursor };
    },
  };
}
