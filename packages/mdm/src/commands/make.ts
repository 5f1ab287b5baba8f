/** The commands for the actions of a fleet. */
import type { PlistDict, PlistValue } from '../plist/parse-plist.ts';
import type { Command } from './command.ts';

const without = (keys: Record<string, PlistValue | undefined>): PlistDict => {
  const dict: PlistDict = {};
  for (const [key, value] of Object.entries(keys)) if (value !== undefined) dict[key] = value;
  return dict;
};

const make = (requestType: string, keys: Record<string, PlistValue | undefined> = {}): Command => ({
  requestType,
  keys: without(keys),
});

export const deviceLock = (keys: { message?: string; phoneNumber?: string; pin?: string } = {}) =>
  make('DeviceLock', { Message: keys.message, PhoneNumber: keys.phoneNumber, PIN: keys.pin });

/** The token is read when the command is handed out: it may have changed while the device was away. */
export const clearPasscode = (unlockToken: Uint8Array) => make('ClearPasscode', { UnlockToken: unlockToken });

/** With the identifier of the enrolment profile, the device leaves. */
export const removeProfile = (identifier: string) => make('RemoveProfile', { Identifier: identifier });

export const installProfile = (profile: Uint8Array) => make('InstallProfile', { Payload: profile });

export const deviceInformation = (queries: string[]) => make('DeviceInformation', { Queries: queries });

export const profileList = () => make('ProfileList');

/** Lets a device in its Setup Assistant go on. */
export const deviceConfigured = () => make('DeviceConfigured');

/** Answered once or never: an erased device does not come back to report it. */
export const eraseDevice = (keys: { pin?: string; preserveDataPlan?: boolean } = {}) =>
  make('EraseDevice', { PIN: keys.pin, PreserveDataPlan: keys.preserveDataPlan });
