import { api, completion as completionBody } from '@muster/contracts';
import type { Database } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { anybody, operators } from '../../http/access.ts';
import { bytesOf } from '../../http/bytes-body.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { readPage } from '../../http/page.ts';
import { refuseEmpty } from '../../http/refuse-empty.ts';
import { created, gone } from '../../http/replies.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { Completion } from './completion.ts';
import { orderError, unknownOrder } from './errors.ts';
import type { NewOrders } from './new-orders.ts';
import type { OrderQueries, Place } from './order-queries.ts';
import type { Orders } from './orders.ts';
import { idOf } from './uuid.ts';
import { showOrder } from './wire.ts';

const PAGE = 200;

/** A cursor is a digit for the group, and the number in it. */
const placeOf = (cursor: string | undefined): Place | null =>
  cursor === undefined ? null : { group: Number(cursor[0]), number: cursor.slice(1) || '0' };

/** The signed bytes are parsed only after the signature was verified. */
function readCompletion(body: Buffer) {
  try {
    return completionBody.parse(JSON.parse(body.toString('utf8')));
  } catch {
    throw httpError('MUSTER_BAD_JSON', 'The body of a callback must be {"orderId", "botId", "attempt"}.');
  }
}

export function orderRoutes(tools: {
  audit: Audit;
  completion: Completion;
  db: Database;
  newOrders: NewOrders;
  orders: Orders;
  queries: OrderQueries;
}): Route[] {
  const { audit, completion, db, newOrders, orders, queries } = tools;

  async function show(tenantId: number, id: string) {
    const row = await queries.get(db, tenantId, id);
    if (!row) throw unknownOrder();
    return showOrder(row);
  }

  const clear = (caller: Caller) =>
    audit.change(
      caller,
      (tx) => orders.clear(tx, caller.tenantId),
      (cleared) => ({ act: 'order.clear', target: null, detail: { cleared } }),
    );

  return [
    defineRoute(api.orders.create, {
      access: operators('operator'),
      async handler({ body, caller, reply, request }) {
        const { tenantId } = caller;
        const key = readIdempotencyKey(request);
        const { isNew, row } = await newOrders({ tenantId, caller, body, key });
        if (isNew) created(reply);
        return showOrder(row);
      },
    }),

    defineRoute(api.orders.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { items, cursor } = await readPage(
          query.limit ?? PAGE,
          (limit) =>
            queries.list(db, caller.tenantId, {
              ...{ after: placeOf(query.cursor), deleted: query.deleted === true, limit },
              status: query.status,
            }),
          (row) => `${row.list_group}${row.order_number}`,
        );
        return { orders: items.map(showOrder), cursor };
      },
    }),

    defineRoute(api.orders.get, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const order = await show(caller.tenantId, idOf(params));
        if (order.deletedAt) throw unknownOrder();
        return order;
      },
    }),

    defineRoute(api.orders.complete, {
      access: anybody, // authenticated by its signature
      async handler({ request }) {
        const body = bytesOf(request.body);
        const signature = String(request.headers['upstash-signature'] ?? '');
        const tenantId = await completion.tenantOf({ url: request.url, signature, body });
        if (tenantId === null)
          throw orderError('MUSTER_BAD_SIGNATURE', 'The callback has no valid signature for its tenant.');
        const isDone = await completion.complete(tenantId, readCompletion(body));
        return { message: isDone ? 'Order completed' : 'Order already finalized' };
      },
    }),

    defineRoute(api.orders.clear, {
      access: operators('operator'),
      handler: async ({ caller }) => ({ cleared: await clear(caller) }),
    }),

    defineRoute(api.orders.removeAll, {
      access: operators('operator'),
      async handler({ caller, reply }) {
        await clear(caller);
        return gone(reply);
      },
    }),

    defineRoute(api.orders.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        refuseEmpty(body);
        await audit.change(
          caller,
          (tx) => orders.update(tx, caller.tenantId, idOf(params), body, caller.name),
          (isChanged) =>
            isChanged ? { act: 'order.update', target: `order ${idOf(params)}`, detail: body } : null,
        );
        return show(caller.tenantId, idOf(params));
      },
    }),

    defineRoute(api.orders.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await audit.change(caller, (tx) => orders.remove(tx, caller.tenantId, idOf(params)), {
          act: 'order.delete',
          target: `order ${idOf(params)}`,
        });
        return gone(reply);
      },
    }),
  ];
}
