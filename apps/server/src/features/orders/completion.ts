import type { ClaimedAction, Engine, Queryable, Transaction } from '@muster/engine';
import type { Callbacks } from '../../callbacks/callbacks.ts';
import type { Log } from '../../http/logging.ts';
import type { OrderQueries, ProcessedOrder } from './order-queries.ts';
import { CHANNEL, type OrderRow } from './wire.ts';

/**
 * Completes orders by a callback at the end of their time, scheduled when they are claimed. The lease ends somewhat
 * later and completes the order if the callback is lost or late, or its sender was down. The first of the two completes
 * the order, the second changes nothing.
 */
export type Completion = ReturnType<typeof createCompletion>;

const PATH = '/api/orders/complete';
/** Callbacks are sent within the second after they are due; without this grace the lease would mostly end first. */
const GRACE_MS = 2_000;

interface Claim {
  readonly orderId: string;
  readonly startedAt: Date;
}

/** The same each time it is scheduled for this claim. */
const idOf = ({ orderId, startedAt }: Claim) => `${orderId}-${startedAt.getTime()}`;

/** An order whose action is cancelled ends with the cancel; it does not count as failed. */
export const unreached = (tenantId: number, held: readonly ProcessedOrder[]) =>
  held.map(({ action_id: actionId, attempt }) => ({
    ...{ tenantId, actionId, attempt, status: 'unreached' as const },
  }));

export function createCompletion(tools: {
  callbacks: Callbacks;
  engine: Engine;
  log: Log;
  queries: OrderQueries;
  seconds: number;
}) {
  const { callbacks, engine, log, queries, seconds } = tools;
  const ownMs = seconds * 1_000;

  function schedule(
    client: Queryable,
    { former_attempts: former, order_id: orderId }: OrderRow,
    { attempt, leasedAt, tenantId, worker }: ClaimedAction,
  ) {
    return callbacks.schedule(client, {
      ...{ tenantId, path: PATH, at: new Date(leasedAt.getTime() + ownMs) },
      body: { orderId, botId: worker, attempt: former + attempt },
      deduplicationId: idOf({ orderId, startedAt: leasedAt }),
    });
  }

  return {
    /** Without a signing key there is no callback to wait for. */
    leaseMs: callbacks.isReady ? ownMs + GRACE_MS : ownMs,

    /** In the transaction of the claim. */
    schedule,

    /** For a committed claim, which must not fail because of this. */
    async tryToSchedule(order: OrderRow, action: ClaimedAction): Promise<void> {
      try {
        await schedule(engine.db, order, action);
      } catch (error) {
        log.warn(
          { err: error, orderId: order.order_id },
          'No callback is scheduled for an order: the end of its lease will complete it.',
        );
      }
    },

    /** The order was given back or deleted: no callback is needed. */
    async unschedule(
      tx: Transaction,
      row: Pick<OrderRow, 'leased_at' | 'order_id' | 'tenant_id'>,
    ): Promise<void> {
      if (row.leased_at)
        await callbacks.unschedule(
          tx,
          row.tenant_id,
          idOf({ orderId: row.order_id, startedAt: row.leased_at }),
        );
    },

    /** For cancelled orders: frees their bots. */
    async giveUp(tx: Transaction, tenantId: number, held: readonly ProcessedOrder[]): Promise<void> {
      if (held.length === 0) return;
      await engine.reportMany(tx, unreached(tenantId, held));
      const claims = held.map((one) => idOf({ orderId: one.order_id, startedAt: one.leased_at }));
      await callbacks.unscheduleMany(tx, tenantId, claims);
    },

    async unscheduleAll(tx: Transaction, tenantId: number, claims: readonly Claim[]): Promise<void> {
      if (claims.length > 0)
        await callbacks.unscheduleAll(tx, { tenantId, path: PATH, ids: claims.map(idOf) });
    },

    /** The tenant it was signed for; null: none. */
    tenantOf: (request: { url: string; signature: string; body: Buffer }) =>
      callbacks.signedFor(engine.db, request),

    /** False: it is not for the claim by which a bot has the order now. */
    async complete(
      tenantId: number,
      { attempt, botId, orderId }: { orderId: string; botId: string; attempt: number },
    ): Promise<boolean> {
      const row = await queries.get(engine.db, tenantId, orderId);
      if (row?.worker !== botId || row.attempt === null) return false;
      if (row.former_attempts + row.attempt !== attempt) return false;
      const { settled } = await engine.report(engine.db, {
        ...{ tenantId, actionId: row.action_id, attempt: row.attempt, channel: CHANNEL, worker: botId },
        ...{ status: 'succeeded', reason: 'CALLBACK' },
      });
      return settled;
    },
  };
}
