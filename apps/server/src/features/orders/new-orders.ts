import type { NewOrder } from '@muster/contracts';
import { type Database, EngineError, gather, type Transaction, whileLocked } from '@muster/engine';
import type { Audit, AuditLine } from '../../audit/audit.ts';
import type { Repeats } from '../../repeats/repeats.ts';
import type { Caller } from '../../tokens/caller.ts';
import { unknownOrder } from './errors.ts';
import type { OrderQueries } from './order-queries.ts';
import type { Orders } from './orders.ts';
import type { OrderRow } from './wire.ts';

/**
 * New orders. The numbers of a tenant are given out one after the other, under the lock of its row, until the commit;
 * so concurrent requests are gathered, and one transaction numbers them all.
 */
export type NewOrders = (asked: Asked) => Promise<{ row: OrderRow; isNew: boolean }>;

interface Answer {
  readonly isNew: boolean;
  readonly row: OrderRow | null;
}

interface Asked {
  readonly tenantId: number;
  readonly caller: Caller;
  readonly body: NewOrder;
  readonly key: string | undefined;
}

export function gatherNewOrders(tools: {
  audit: Audit;
  db: Database;
  orders: Orders;
  queries: OrderQueries;
  repeats: Repeats;
}): NewOrders {
  const { audit, db, orders, queries, repeats } = tools;

  /** Each key once. */
  async function createDistinct(
    tx: Transaction,
    tenantId: number,
    asked: readonly Asked[],
  ): Promise<Map<Asked, Answer | EngineError>> {
    const keyed = asked.flatMap(({ body, key }) => (key === undefined ? [] : [{ key, said: body }]));
    const taken = keyed.length > 0 ? await repeats.takeAll(tx, tenantId, keyed) : new Map();
    const isNew = ({ key }: Asked) => key === undefined || taken.get(key) === null;
    const fresh = asked.filter(isNew);
    const made = fresh.length > 0 ? await orders.create(tx, tenantId, fresh.map(ordered)) : [];
    await audit.writeAll(tx, made.flatMap(lineOf(fresh)));
    const answers = new Map<Asked, Answer | EngineError>();
    for (const [n, one] of fresh.entries()) {
      const row = made[n] as OrderRow | EngineError;
      answers.set(one, row instanceof EngineError ? row : { row, isNew: true });
    }
    // a refused order leaves no key
    const noted = fresh.flatMap(({ key }, n) => {
      const row = made[n] as OrderRow | EngineError;
      return key === undefined ? [] : [{ key, id: row instanceof EngineError ? null : row.order_number }];
    });
    await repeats.note(tx, tenantId, noted);
    for (const one of asked.filter((each) => !isNew(each))) {
      const known = taken.get(one.key) as string | EngineError;
      const isRefused = known instanceof EngineError;
      answers.set(
        one,
        isRefused ? known : { row: await queries.ofNumber(tx, tenantId, known), isNew: false },
      );
    }
    return answers;
  }

  async function create(
    tx: Transaction,
    tenantId: number,
    asked: readonly Asked[],
  ): Promise<(Answer | EngineError)[]> {
    const keys = asked.map(({ key }) => key);
    const isFirst = ({ key }: Asked, n: number) => key === undefined || keys.indexOf(key) === n;
    const answers = await createDistinct(tx, tenantId, asked.filter(isFirst));
    // with a key of another request in this transaction: its order exists now
    const again = asked.filter((one, n) => !isFirst(one, n));
    const others = again.length > 0 ? await create(tx, tenantId, again) : [];
    return asked.map((one) => answers.get(one) ?? (others[again.indexOf(one)] as Answer | EngineError));
  }

  /** One per tenant: no tenant waits for another's numbers. */
  const lines = new Map<number, (asked: Asked) => Promise<Answer | EngineError>>();
  function lineFor(tenantId: number) {
    const line =
      lines.get(tenantId) ??
      gather({
        ...{ name: 'orders', deadlineMs: db.deadlineMs, inFlightAtOnce: 1 },
        run: (all: readonly Asked[]) => whileLocked(db, (tx) => create(tx, tenantId, all)),
      });
    lines.set(tenantId, line);
    return line;
  }

  return async (asked) => {
    const answer = await lineFor(asked.tenantId)(asked);
    if (answer instanceof EngineError) throw answer;
    const { isNew, row } = answer;
    if (!row) throw unknownOrder(); // pruned, but its key not yet
    return { isNew, row };
  };
}

const ordered = ({ body, caller }: Asked) => ({ body, createdBy: caller.name });

/** The audit line of a created order. */
const lineOf = (asked: readonly Asked[]) => (row: OrderRow | EngineError, n: number) => {
  const { body, caller } = asked[n] as Asked;
  if (row instanceof EngineError) return [];
  const line: AuditLine = { act: 'order.create', target: `order ${row.order_id}`, detail: body };
  return [{ actor: caller, line }];
};
