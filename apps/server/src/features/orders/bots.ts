import type { BotPatch } from '@muster/contracts';
import type { Engine, Queryable } from '@muster/engine';
import type { Caller } from '../../tokens/caller.ts';
import type { Tokens } from '../../tokens/tokens.ts';
import type { BotQueries } from './bot-queries.ts';
import { refused, unknownBot } from './errors.ts';
import type { Orders } from './orders.ts';
import { BOTS, type BotRow } from './wire.ts';

/** Bots and their tokens. A bot is a lane that has joined the pool of its tenant's orders. */
export type Bots = ReturnType<typeof createBots>;

export function createBots(tools: { engine: Engine; orders: Orders; queries: BotQueries; tokens: Tokens }) {
  const { engine, orders, queries, tokens } = tools;

  async function known(tx: Queryable, tenantId: number, id: string): Promise<BotRow> {
    const row = await queries.lock(tx, tenantId, id);
    if (!row) throw unknownBot();
    return row;
  }

  async function giveBack(tx: Queryable, { tenant_id: tenantId, action_id: actionId, attempt }: BotRow) {
    if (actionId !== null && attempt !== null) await engine.release(tx, { tenantId, actionId, attempt });
  }

  return {
    async create(tx: Queryable, { tenantId, name }: Caller): Promise<{ id: string; botToken: string }> {
      const id = await queries.newId(tx);
      const laneId = await engine.ensureLane(tx, tenantId, BOTS, id);
      await engine.joinPool(tx, { tenantId, laneId }, await orders.pool(tx, tenantId));
      const owner = await queries.insert(tx, { tenantId, id, laneId });
      const owned = { tenantId, kind: 'bot', owner, name: `bot ${id}`, createdBy: name } as const;
      return { id, botToken: await tokens.issueFor(tx, { ...owned, restriction: { botId: id } }) };
    },

    async update(tx: Queryable, tenantId: number, id: string, to: BotPatch): Promise<void> {
      const row = await known(tx, tenantId, id);
      if (row.deleted_at) {
        if (to.deletedAt !== null) throw unknownBot();
        await queries.setDeleted(tx, tenantId, id, false);
        await engine.unblockLane(tx, { tenantId, laneId: row.lane_id });
      }
      if (to.status === 'PROCESSING' && !row.action_id)
        throw refused('A bot is PROCESSING when it has claimed an order, or was given one.');
      if (to.status === 'IDLE') await giveBack(tx, row);
      else if (to.currentOrderId === null && row.action_id)
        throw refused('The bot processes an order. Set it IDLE to take it back.');
    },

    /** Nothing is handed out to it any more, and what it had waits for others in its old place. */
    async remove(tx: Queryable, tenantId: number, id: string): Promise<void> {
      const row = await known(tx, tenantId, id);
      if (row.deleted_at) throw unknownBot();
      await engine.blockLane(tx, { tenantId, laneId: row.lane_id }, 'The bot was deleted.');
      // after the block nobody claims for it: what it has now is all
      await giveBack(tx, (await queries.get(tx, tenantId, id)) as BotRow);
      await queries.setDeleted(tx, tenantId, id, true);
      await tokens.revokeOf(tx, tenantId, 'bot', row.bot_number);
    },
  };
}
