/** The states of a task, and of a device of it. */
export const TASK_STATUSES = ['pending', 'running', 'success', 'failed', 'cancelled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
/** Why a task is `cancelled`. */
export const TASK_REASONS = ['CANCELLED', 'NOBODY_MEANT', 'NOT_ELIGIBLE'] as const;
export type TaskReason = (typeof TASK_REASONS)[number];
export const DEVICE_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;
export type DeviceStatus = (typeof DEVICE_STATUSES)[number];

/**
 * Accepted in filters: also older systems' words for the same states, and those of devices that were never handed out.
 */
export const TASK_WORDS = [...TASK_STATUSES, 'completed', 'claimed', 'retrying'] as const;
export const DEVICE_WORDS = [...DEVICE_STATUSES, 'success', 'claimed', 'retrying', 'unsupplied'] as const;
export type DeviceWord = (typeof DEVICE_WORDS)[number];
