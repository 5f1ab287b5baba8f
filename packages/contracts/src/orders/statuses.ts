/** The statuses that existing clients know. */
export const ORDER_TYPES = ['NORMAL', 'VIP'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

export const ORDER_STATUSES = ['PENDING', 'PROCESSING', 'COMPLETE'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** What made an order complete: the callback at the end of its time, the end of its lease without one, or an operator. */
export const COMPLETION_REASONS = ['CALLBACK', 'LEASE_END', 'OPERATOR'] as const;

export const BOT_STATUSES = ['IDLE', 'PROCESSING'] as const;
export type BotStatus = (typeof BOT_STATUSES)[number];
