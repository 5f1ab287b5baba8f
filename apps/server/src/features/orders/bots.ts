import type { BotPatch } from '@muster/contracts';
import type { Engine, Queryable, Transaction } from '@muster/engine';
import type { Caller } from '../../tokens/caller.ts';
import type { Tokens } from '../../tokens/tokens.ts';
import type { BotQueries } from './bot-queries.ts';
import type { Completion } from './completion.ts';
import { refused, unknownBot } from './errors.ts';
import type { OrderQueries } from './order-queries.ts';
import type { Orders } from './orders.ts';
import { BOTS, type BotRow, CHANNEL, type OrderRow } from './wire.ts';

/** Bots and their tokens. A bot is a lane that has joined the pool of its tenant's orders. */
export type Bots = ReturnType<typeof createBots>;

export type Claimed = { kind: 'empty' } | { kind: 'claimed' | 'held'; order: OrderRow };

export function createBots(tools: {
  completion: Completion;
  engine: Engine;
  normalShare: number;
  orderQueries: OrderQueries;
  orders: Orders;
  queries: BotQueries;
  tokens: Tokens;
}) {
  const { completion, engine, normalShare, orderQueries, orders, queries, tokens } = tools;
  const { leaseMs } = completion;

  async function known(tx: Queryable, tenantId: number, id: string): Promise<BotRow> {
    const row = await queries.lock(tx, tenantId, id);
    if (!row) throw unknownBot();
    return row;
  }

  /** False: it had nothing. */
  async function giveBack(tx: Transaction, bot: BotRow): Promise<boolean> {
    const { tenant_id: tenantId, bot_id: botId, order_id: orderId, action_id: actionId, attempt } = bot;
    if (actionId === null || attempt === null) return false;
    await queries.touch(tx, tenantId, botId);
    const row = orderId === null ? null : await orderQueries.get(tx, tenantId, orderId);
    if (row?.worker === botId && row.attempt === attempt) return orders.giveBack(tx, row);
    // its order was cancelled; or its lease has ended and another bot has the order, and then this changes nothing
    await engine.release(tx, { tenantId, actionId, attempt, uncounted: true });
    if (orderId !== null) await completion.unschedule(tx, { ...bot, order_id: orderId });
    return true;
  }

  const issueToken = (
    tx: Queryable,
    { id, ...of }: { tenantId: number; id: string; owner: string; createdBy: string },
  ) => tokens.issueFor(tx, { ...of, kind: 'bot', name: `bot ${id}`, restriction: { botId: id } });

  return {
    async create(tx: Queryable, { tenantId, name }: Caller): Promise<{ id: string; botToken: string }> {
      const id = await queries.newId(tx);
      const laneId = await engine.ensureLane(tx, tenantId, BOTS, id);
      await engine.joinPool(tx, { tenantId, laneId }, await orders.pool(tx, tenantId));
      const owner = await queries.insert(tx, { tenantId, id, laneId });
      return { id, botToken: await issueToken(tx, { tenantId, id, owner, createdBy: name }) };
    },

    /** A new token, also for a restored bot. The old one ends with the first use of the new. */
    async rotateToken(tx: Queryable, { tenantId, name }: Caller, id: string): Promise<string> {
      const row = await known(tx, tenantId, id);
      if (row.deleted_at) throw unknownBot();
      return issueToken(tx, { tenantId, id, owner: row.bot_number, createdBy: name });
    },

    /** Claims the next order, or returns the one it has. */
    async claim(tenantId: number, id: string): Promise<Claimed> {
      const { db } = engine;
      const bot = await queries.get(db, tenantId, id);
      if (!bot || bot.deleted_at) throw unknownBot();
      const got = await engine.claimFromPool(db, {
        ...{ tenantId, poolId: await orders.pool(db, tenantId), laneId: bot.lane_id, channel: CHANNEL },
        ...{ worker: id, leaseMs, normalShare },
      });
      if (got.kind === 'empty') return got;
      const actionId = got.kind === 'held' ? got.actionId : got.action.id;
      const order = await orderQueries.ofAction(db, tenantId, actionId);
      // read after the commit: since then an operator may have taken the order back, deleted or completed it
      if (order?.worker !== id || (got.kind === 'claimed' && order.attempt !== got.action.attempt))
        throw refused('The order of the bot has just changed. Claim again.');
      if (got.kind === 'claimed') await completion.tryToSchedule(order, got.action);
      return { kind: got.kind, order };
    },

    /** False: nothing to change. */
    async update(tx: Transaction, tenantId: number, id: string, to: BotPatch): Promise<boolean> {
      const row = await known(tx, tenantId, id);
      const isRestored = row.deleted_at !== null;
      if (row.deleted_at) {
        if (to.deletedAt !== null) throw unknownBot();
        await queries.setDeleted(tx, tenantId, id, false);
        await engine.unblockLane(tx, { tenantId, laneId: row.lane_id });
      }
      if (to.status === 'PROCESSING' && !row.action_id)
        throw refused('A bot becomes PROCESSING by claiming an order or being given one.');
      if (to.status === 'IDLE') return (await giveBack(tx, row)) || isRestored;
      if (to.currentOrderId === null && row.action_id)
        throw refused('The bot is processing an order. Set it IDLE to take the order back.');
      return isRestored;
    },

    /** It gets no more orders, and the one it had waits for another bot in its old place. */
    async remove(tx: Transaction, tenantId: number, id: string): Promise<void> {
      const row = await known(tx, tenantId, id);
      if (row.deleted_at) throw unknownBot();
      await engine.blockLane(tx, { tenantId, laneId: row.lane_id }, 'The bot was deleted.');
      // no claim for it can succeed after the block, so what it has now is all
      await giveBack(tx, (await queries.get(tx, tenantId, id)) as BotRow);
      await queries.setDeleted(tx, tenantId, id, true);
      await tokens.revokeOf(tx, tenantId, 'bot', [row.bot_number]);
    },
  };
}
