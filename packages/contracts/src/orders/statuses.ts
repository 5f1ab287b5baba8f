/** As their clients know them. */
export const ORDER_TYPES = ['NORMAL', 'VIP'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

export const ORDER_STATUSES = ['PENDING', 'PROCESSING', 'COMPLETE'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export const BOT_STATUSES = ['IDLE', 'PROCESSING'] as const;
export type BotStatus = (typeof BOT_STATUSES)[number];
