import type { Policy } from './policies.ts';

/** What can be done to a device, by number. */
export interface ActionType {
  readonly id: number;
  readonly name: string;
  /** The policies in which it is allowed. None: only by creating the device. */
  readonly from: readonly Policy[];
  /** The policy that it leads to; null: it changes none. */
  readonly to: Policy | null;
  /** database: only Muster takes part; device: the device does it on its own; command: the device is told to. */
  readonly way: 'database' | 'device' | 'command';
  /** What the maker's layer is asked for. */
  readonly requestType: string | null;
  readonly needsTemplate: boolean;
}

const type = (
  id: number,
  name: string,
  from: readonly Policy[],
  to: Policy | null,
  way: ActionType['way'],
  requestType: string | null = null,
  needsTemplate = false,
): ActionType => ({ id, name, from, to, way, requestType, needsTemplate });

export const ACTION_TYPES: readonly ActionType[] = [
  type(1, 'Upload', [], 'uploaded', 'database'),
  type(2, 'Register', ['uploaded'], 'registered', 'database'),
  type(3, 'Checkin', ['registered'], 'enrolled', 'device'),
  type(4, 'Activate', ['enrolled'], 'active', 'device'),
  type(5, 'Lock', ['active'], 'locked', 'command', 'DeviceLock'),
  type(6, 'Unlock', ['locked'], 'active', 'command', 'ClearPasscode'),
  type(7, 'Send Message', ['active', 'locked'], null, 'command', 'SendMessage', true),
  type(8, 'Lock Message', ['active', 'locked'], 'locked', 'command', 'DeviceLock', true),
  type(9, 'Release', ['active', 'locked'], 'released', 'command', 'RemoveProfile'),
  type(10, 'Deregister', ['uploaded', 'registered', 'released'], 'deregistered', 'database'),
];
