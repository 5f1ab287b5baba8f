import { api } from '@muster/contracts';
import type { Database } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import { created, gone } from '../../http/replies.ts';
import type { BotQueries } from './bot-queries.ts';
import type { Bots } from './bots.ts';
import { orderError, unknownBot } from './errors.ts';
import { showBot, showOrder } from './wire.ts';

const PAGE = 200;

export function botRoutes(tools: { audit: Audit; bots: Bots; db: Database; queries: BotQueries }): Route[] {
  const { audit, bots, db, queries } = tools;

  async function show(tenantId: number, id: string) {
    const row = await queries.get(db, tenantId, id);
    if (!row) throw unknownBot();
    return showBot(row);
  }

  return [
    defineRoute(api.bots.create, {
      access: operators('operator'),
      async handler({ caller, reply }) {
        const { id, botToken } = await audit.change(
          caller,
          (tx) => bots.create(tx, caller),
          (bot) => ({ act: 'bot.create', target: `bot ${bot.id}` }),
        );
        created(reply);
        return { ...(await show(caller.tenantId, id)), botToken };
      },
    }),

    defineRoute(api.bots.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { items, cursor } = await readPage(
          query.limit ?? PAGE,
          (limit) => queries.list(db, caller.tenantId, query.cursor ?? '0', limit),
          (row) => row.bot_number,
        );
        return { bots: items.map(showBot), cursor };
      },
    }),

    defineRoute(api.bots.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        await audit.change(caller, (tx) => bots.update(tx, caller.tenantId, params.id, body), {
          act: 'bot.update',
          target: `bot ${params.id}`,
          detail: body,
        });
        return show(caller.tenantId, params.id);
      },
    }),

    defineRoute(api.bots.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await audit.change(caller, (tx) => bots.remove(tx, caller.tenantId, params.id), {
          act: 'bot.delete',
          target: `bot ${params.id}`,
        });
        return gone(reply);
      },
    }),

    defineRoute(api.bots.rotateToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        const botToken = await audit.change(caller, (tx) => bots.rotateToken(tx, caller, params.id), {
          act: 'token.rotate',
          target: `bot ${params.id}`,
        });
        created(reply);
        return { id: params.id, botToken };
      },
    }),

    defineRoute(api.bots.claim, {
      access: operators('operator', 'bot'),
      async handler({ caller, params, reply }) {
        const { tenantId } = caller;
        if (caller.kind === 'bot' && (caller.restriction as { botId: string }).botId !== params.id)
          throw orderError('MUSTER_WRONG_BOT', 'This token is that of another bot.');
        const got = await bots.claim(tenantId, params.id);
        if (got.kind === 'empty') return null;
        const order = showOrder(got.order);
        if (got.kind === 'claimed') return order;
        reply.code(409);
        return { error: 'The bot processes an order already.', code: 'MUSTER_BOT_BUSY', order };
      },
    }),
  ];
}
