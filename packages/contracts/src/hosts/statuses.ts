/** The states of an action in the words of this door. */
export const HOST_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;
export type HostStatus = (typeof HOST_STATUSES)[number];
