import type { NewOrder, OrderPatch } from '@muster/contracts';
import {
  type Engine,
  EngineError,
  type Enqueued,
  type NewAction,
  type Queryable,
  type Transaction,
} from '@muster/engine';
import type { BotQueries } from './bot-queries.ts';
import { type Completion, unreached } from './completion.ts';
import { orderError, refused, unknownOrder } from './errors.ts';
import type { NewNumber, OrderQueries } from './order-queries.ts';
import { whyUnavailable } from './why-unavailable.ts';
import { CHANNEL, type OrderRow, POOL, POOLS, statusOf } from './wire.ts';

/** Operations on orders. The status of an order is the state of its action. */
export type Orders = ReturnType<typeof createOrders>;

/**
 * An order that is taken back does not count as a try. Only claims whose answer the database lost do, and every tenth
 * of those.
 */
const TRIES = 1_000;

/** What to send instead of a botId that is not the order's bot. */
const WITH_BOT = {
  PENDING: 'With status PENDING, botId must be null or left out.',
  COMPLETE: 'With status COMPLETE, leave out botId: the bot that has the order has completed it.',
  none: 'Send status PROCESSING with botId to give the order to that bot, or status PENDING to take it back.',
} as const;

export function createOrders(tools: {
  bots: BotQueries;
  completion: Completion;
  engine: Engine;
  limit: number;
  queries: OrderQueries;
}) {
  const { bots, completion, engine, limit, queries } = tools;
  const { leaseMs } = completion;

  const pool = (client: Queryable, tenantId: number) => engine.ensurePool(client, tenantId, POOLS, POOL);

  /** The action of an order: its payload and how it ends. */
  const actionOf = (
    order: {
      orderId: string;
      orderNumber: string;
      type: NewOrder['type'];
      createdBy: string;
      placeOf?: string;
    },
    to: { tenantId: number; laneId: string },
  ): NewAction => ({
    ...{ ...to, channel: CHANNEL, kind: 'order' },
    payload: { orderId: order.orderId, orderNumber: Number(order.orderNumber) },
    priority: order.type === 'VIP' ? 'urgent' : 'normal',
    ...{ onLeaseEnd: 'succeed', maxAttempts: TRIES, leaseMs, mostOfChannel: limit },
    ...{ createdBy: order.createdBy, placeOf: order.placeOf },
  });

  /** The engine's limit in the words of this door: its callers know no lanes. */
  const full = (error: EngineError) =>
    error.code === 'MUSTER_LANE_FULL'
      ? new EngineError(
          'MUSTER_LANE_FULL',
          `There are already ${limit} unfinished orders, as many as MUSTER_ORDER_LIMIT allows.`,
        )
      : error;

  async function known(tx: Queryable, tenantId: number, id: string): Promise<OrderRow> {
    const row = (await queries.lock(tx, tenantId, id)) && (await queries.get(tx, tenantId, id));
    if (!row) throw unknownOrder();
    return row;
  }

  /** Frees its bot; the order waits in its old place. False: it was waiting already. */
  async function giveBack(tx: Transaction, row: OrderRow): Promise<boolean> {
    const { tenant_id: tenantId, action_id: actionId, attempt } = row;
    if (attempt === null) return false;
    await engine.release(tx, { tenantId, actionId, attempt, uncounted: true });
    await completion.unschedule(tx, row);
    await queries.touch(tx, tenantId, row.order_id);
    if (row.worker !== null) await bots.touch(tx, tenantId, row.worker);
    return true;
  }

  async function assign(tx: Transaction, row: OrderRow, botId: string | null | undefined): Promise<boolean> {
    const { tenant_id: tenantId } = row;
    if (!botId) throw refused('PROCESSING needs a bot: send botId.');
    if (statusOf(row) === 'PROCESSING') {
      if (row.worker === botId) return false;
      throw refused('Another bot is processing this order. Set it PENDING first.');
    }
    const bot = await bots.lock(tx, tenantId, botId);
    if (!bot || bot.deleted_at) throw orderError('MUSTER_UNKNOWN_BOT', 'There is no bot with this id.');
    const got = await engine.claimFromPool(tx, {
      ...{ tenantId, poolId: await pool(tx, tenantId), laneId: bot.lane_id, channel: CHANNEL, worker: botId },
      ...{ leaseMs, actionId: row.action_id },
    });
    if (got.kind === 'held') throw refused('The bot is processing another order.');
    if (got.kind === 'empty') throw refused(await whyUnavailable(engine, tx, row));
    await completion.schedule(tx, row, got.action);
    return true;
  }

  return {
    giveBack,
    pool,

    /** In order, each with its own answer. The number of a refused order is never used. */
    async create(
      tx: Queryable,
      tenantId: number,
      given: readonly { body: NewOrder; createdBy: string }[],
    ): Promise<(OrderRow | EngineError)[]> {
      const numbers = await queries.nextNumbers(tx, tenantId, given.length);
      const to = { tenantId, laneId: await pool(tx, tenantId) };
      const made = given.map(({ body, createdBy }, n) => {
        const own = numbers[n] as NewNumber;
        return { ...own, ...body, createdBy, orderId: own.id, orderNumber: own.number };
      });
      const queued = await engine.enqueueMany(
        tx,
        made.map((one) => actionOf(one, to)),
      );
      const rows = await queries.insert(
        tx,
        tenantId,
        made.flatMap(({ at, id, number, type, userId = null }, n) => {
          const action = queued[n] as Enqueued | EngineError;
          return action instanceof EngineError ? [] : [{ at, id, number, type, userId, actionId: action.id }];
        }),
      );
      return queued.map((one) => (one instanceof EngineError ? full(one) : (rows.shift() as OrderRow)));
    },

    /** False: nothing to change. */
    async update(
      tx: Transaction,
      tenantId: number,
      id: string,
      to: OrderPatch,
      by: string,
    ): Promise<boolean> {
      let row = await known(tx, tenantId, id);
      const isRestored = row.deleted_at !== null;
      const botId = to.botId?.toLowerCase() ?? to.botId;
      if (row.deleted_at) {
        if (to.deletedAt !== null) throw unknownOrder();
        // a bot may still have the cancelled action, which could no longer be found by the order after this
        if (!row.completed_at)
          await completion.giveUp(tx, tenantId, await queries.stillProcessed(tx, tenantId, [row.action_id]));
        const { order_id: orderId, order_number: orderNumber, place: placeOf, type } = row;
        const action = actionOf(
          { orderId, orderNumber, type, createdBy: by, placeOf },
          { tenantId, laneId: await pool(tx, tenantId) },
        );
        const queue = () =>
          engine.enqueue(tx, action).catch((error) => {
            throw error instanceof EngineError ? full(error) : error;
          });
        const actionId = row.completed_at ? row.action_id : (await queue()).id;
        await queries.restore(tx, tenantId, id, actionId);
        row = await known(tx, tenantId, id);
      }
      const status = statusOf(row);
      if (status === 'COMPLETE' && to.status !== undefined && to.status !== 'COMPLETE')
        throw refused('A COMPLETE order cannot change.');
      if (to.status === 'PROCESSING') return (await assign(tx, row, botId)) || isRestored;
      const bot = to.status === 'PENDING' ? null : (row.bot_id ?? row.worker);
      if (botId !== undefined && botId !== bot) throw refused(WITH_BOT[to.status ?? 'none']);
      if (to.status === undefined) return isRestored;
      if (to.status === 'PENDING') return (await giveBack(tx, row)) || isRestored;
      if (status === 'PENDING') throw refused('Only a PROCESSING order can become COMPLETE.');
      if (status !== 'PROCESSING') return isRestored;
      await engine.report(tx, {
        ...{ tenantId, actionId: row.action_id, attempt: row.attempt as number },
        ...{ status: 'succeeded', reason: 'OPERATOR' },
      });
      await completion.unschedule(tx, row);
      return true;
    },

    async remove(tx: Transaction, tenantId: number, id: string): Promise<void> {
      const row = await known(tx, tenantId, id);
      if (row.deleted_at) throw unknownOrder();
      if (row.completed_at) return queries.markDeleted(tx, tenantId, id);
      // cancel after giving back: in the opposite order a bot could claim it before it is cancelled
      await engine.cancel(tx, { tenantId, actionId: row.action_id });
      await giveBack(tx, row);
      await queries.markDeleted(tx, tenantId, id);
    },

    /** All orders, in one transaction. */
    async clear(tx: Transaction, tenantId: number): Promise<number> {
      await queries.stopNumbers(tx, tenantId);
      const laneId = await pool(tx, tenantId);
      // in this order: what is given back to be cancelled could be claimed before it is
      const { cancelled, requested } = await engine.cancelMatching(tx, { tenantId, laneId });
      const held = await queries.processing(tx, tenantId);
      await engine.reportMany(tx, unreached(tenantId, held));
      await completion.unscheduleAll(
        tx,
        tenantId,
        held.map(({ order_id: orderId, leased_at: startedAt }) => ({ orderId, startedAt })),
      );
      return cancelled + requested + (await queries.markAllDeleted(tx, tenantId));
    },
  };
}
