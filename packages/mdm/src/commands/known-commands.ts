/** The known keys of some commands. Other commands, and further keys of these, are passed on unchanged. */
import { MdmError } from '../mdm-error.ts';
import { isDict, type PlistDict, type PlistValue } from '../plist/parse-plist.ts';

type Rule = readonly [required: boolean, fits: (value: PlistValue) => boolean, what: string];

const text: Rule = [false, (value) => typeof value === 'string', 'a text'];
const flag: Rule = [false, (value) => typeof value === 'boolean', 'true or false'];
const name: Rule = [true, (value) => typeof value === 'string' && value !== '', 'a text'];
const data: Rule = [true, (value) => value instanceof Uint8Array && value.byteLength > 0, 'data'];
const pin: Rule = [false, (value) => typeof value === 'string' && value.length === 6, 'six characters'];
const names: Rule = [
  true,
  (value) => Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'),
  'a list of texts',
];
const obliteration: Rule = [
  false,
  (value) => ['Default', 'DoNotObliterate', 'ObliterateWithWarning', 'Always'].includes(String(value)),
  'a known behaviour',
];
const returnToService: Rule = [
  false,
  (value) => isDict(value) && typeof value.Enabled === 'boolean',
  'a dictionary with Enabled',
];

const KNOWN: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  DeviceLock: { Message: text, PhoneNumber: text, PIN: pin },
  ClearPasscode: { UnlockToken: data },
  RemoveProfile: { Identifier: name },
  InstallProfile: { Payload: data },
  DeviceInformation: { Queries: names },
  DeviceConfigured: {},
  ProfileList: {},
  EraseDevice: {
    PIN: pin,
    PreserveDataPlan: flag,
    DisallowProximitySetup: flag,
    ObliterationBehavior: obliteration,
    ReturnToService: returnToService,
  },
};

export function checkKeys(requestType: string, keys: PlistDict): void {
  const rules = Object.hasOwn(KNOWN, requestType) ? (KNOWN[requestType] ?? {}) : {};
  for (const [key, [required, fits, what]] of Object.entries(rules)) {
    const value = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (value === undefined ? required : !fits(value))
      throw new MdmError('COMMAND_INVALID', `${key} of ${requestType} must be ${what}.`);
  }
}

/** On iOS a device always executes these at once, so there is no better moment to wait for. */
const NEVER_NOT_NOW = new Set([
  ...['DeviceInformation', 'ProfileList', 'DeviceLock', 'EraseDevice', 'ClearPasscode'],
  ...['ProvisioningProfileList', 'InstalledApplicationList', 'Restrictions'],
]);

/** Whether a device may answer NotNow. */
export const mayBeNotNow = (requestType: string) => !NEVER_NOT_NOW.has(requestType);
