import type { Bot, Order } from '@muster/contracts';

/** The channel of orders, and the spaces of their lanes: one pool per tenant, one lane per bot. */
export const CHANNEL = 'order';
export const POOLS = 'orders';
export const POOL = 'pool';
export const BOTS = 'bots';

/** An order with its lease, if a bot has it. */
export interface OrderRow {
  readonly tenant_id: number;
  readonly order_id: string;
  readonly order_number: string;
  readonly type: Order['type'];
  readonly user_id: string | null;
  readonly action_id: string;
  readonly place: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly completed_at: Date | null;
  readonly processing_started_at: Date | null;
  readonly bot_id: string | null;
  readonly deleted_at: Date | null;
  readonly worker: string | null;
  readonly attempt: number | null;
  readonly leased_at: Date | null;
  /** Attempts of the actions it had before it was deleted and restored; counting continues from there. */
  readonly former_attempts: number;
  /** When its bot is done with it. */
  readonly ends_at: Date | null;
  readonly completion_reason: Order['completionReason'];
}

export interface BotRow {
  readonly tenant_id: number;
  readonly bot_id: string;
  readonly bot_number: string;
  readonly lane_id: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
  readonly order_id: string | null;
  readonly order_number: string | null;
  readonly action_id: string | null;
  readonly attempt: number | null;
  readonly leased_at: Date | null;
  /** When it is done with its order. */
  readonly ends_at: Date | null;
}

export function statusOf(row: OrderRow): Order['status'] {
  if (row.completed_at) return 'COMPLETE';
  return row.leased_at ? 'PROCESSING' : 'PENDING';
}

const later = (a: Date, b: Date | null) => (b && b > a ? b : a).toISOString();
const text = (at: Date | null) => at?.toISOString() ?? null;

export function showOrder(row: OrderRow): Order {
  return {
    id: row.order_id,
    orderNumber: Number(row.order_number),
    type: row.type,
    status: statusOf(row),
    userId: row.user_id,
    botId: row.bot_id ?? row.worker,
    createdAt: row.created_at.toISOString(),
    processingStartedAt: text(row.processing_started_at ?? row.leased_at),
    processingEndsAt: text(row.ends_at),
    completedAt: text(row.completed_at),
    completionReason: row.completion_reason,
    updatedAt: later(row.updated_at, row.leased_at),
    deletedAt: text(row.deleted_at),
  };
}

/** A bot is PROCESSING exactly while it holds a lease. */
export function showBot(row: BotRow): Bot {
  return {
    id: row.bot_id,
    number: Number(row.bot_number),
    status: row.action_id ? 'PROCESSING' : 'IDLE',
    currentOrderId: row.order_id,
    currentOrderNumber: row.order_number === null ? null : Number(row.order_number),
    processingStartedAt: text(row.leased_at),
    processingEndsAt: text(row.ends_at),
    createdAt: row.created_at.toISOString(),
    updatedAt: later(row.updated_at, row.leased_at),
    deletedAt: text(row.deleted_at),
  };
}
