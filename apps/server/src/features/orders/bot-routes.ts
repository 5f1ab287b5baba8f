import { api } from '@muster/contracts';
import type { Database } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import { refuseEmpty } from '../../http/refuse-empty.ts';
import { created, gone } from '../../http/replies.ts';
import type { BotQueries } from './bot-queries.ts';
import type { Bots } from './bots.ts';
import { orderError, unknownBot } from './errors.ts';
import { idOf } from './uuid.ts';
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
          (limit) =>
            queries.list(db, caller.tenantId, {
              ...{ after: query.cursor ?? '0', deleted: query.deleted === true, limit, status: query.status },
            }),
          (row) => row.bot_number,
        );
        return { bots: items.map(showBot), cursor };
      },
    }),

    defineRoute(api.bots.get, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const bot = await show(caller.tenantId, idOf(params));
        if (bot.deletedAt) throw unknownBot();
        return bot;
      },
    }),

    defineRoute(api.bots.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        refuseEmpty(body);
        await audit.change(
          caller,
          (tx) => bots.update(tx, caller.tenantId, idOf(params), body),
          (isChanged) =>
            isChanged ? { act: 'bot.update', target: `bot ${idOf(params)}`, detail: body } : null,
        );
        return show(caller.tenantId, idOf(params));
      },
    }),

    defineRoute(api.bots.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await audit.change(caller, (tx) => bots.remove(tx, caller.tenantId, idOf(params)), {
          act: 'bot.delete',
          target: `bot ${idOf(params)}`,
        });
        return gone(reply);
      },
    }),

    defineRoute(api.bots.rotateToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        const botToken = await audit.change(caller, (tx) => bots.rotateToken(tx, caller, idOf(params)), {
          act: 'token.rotate',
          target: `bot ${idOf(params)}`,
        });
        created(reply);
        return { id: idOf(params), botToken };
      },
    }),

    defineRoute(api.bots.claim, {
      access: operators('operator', 'bot'),
      async handler({ caller, params, reply }) {
        const { tenantId } = caller;
        if (caller.kind === 'bot' && (caller.restriction as { botId: string }).botId !== idOf(params))
          throw orderError('MUSTER_WRONG_BOT', 'This token belongs to another bot.');
        const got = await bots.claim(tenantId, idOf(params));
        if (got.kind === 'empty') return null;
        const order = showOrder(got.order);
        if (got.kind === 'claimed') return order;
        reply.code(409);
        return { error: 'The bot is already processing an order.', code: 'BOT_BUSY', order };
      },
    }),
  ];
}
