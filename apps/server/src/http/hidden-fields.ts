/**
 * Fields of payloads and results that are not for everybody's eyes: what is called a password, token, secret, key or pin is
 * shown as `[hidden]` wherever operators read, and whole to whoever executes the action. What comes back as `[hidden]` at the
 * same place means the value that is there.
 */
export const HIDDEN = '[hidden]';

const WORDS = new Set([
  'password',
  'passwd',
  'passcode',
  'passphrase',
  'token',
  'secret',
  'key',
  'pin',
  'pwd',
]);
/** Deeper than this nothing is looked for, and nothing is shown. */
const DEEPEST = 100;

/** What devices call so: profiles with the passwords of networks, codes that open a locked device. */
const NAMES = new Set([
  'Payload',
  'ActivationLockBypassCode',
  'BypassCode',
  'WiFiProfileData',
  'MDMProfileData',
]);

/** `unlockToken`, `API_KEY`, `wifi-password`; not `keyboard`. */
function isSecret(field: string): boolean {
  if (NAMES.has(field)) return true;
  const words = field.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
  return words.some((word) => WORDS.has(word.toLowerCase().replace(/s$/, '')));
}

export function hideFields(value: unknown): { readonly shown: unknown; readonly count: number } {
  let count = 0;
  const hide = (part: unknown, depth: number): unknown => {
    if (part === null || typeof part !== 'object') return part;
    if (depth > DEEPEST) {
      count += 1;
      return HIDDEN;
    }
    if (Array.isArray(part)) return part.map((one) => hide(one, depth + 1));
    return Object.fromEntries(
      Object.entries(part).map(([field, one]) => {
        if (!isSecret(field) || one === null || one === '' || typeof one === 'boolean')
          return [field, hide(one, depth + 1)];
        count += 1;
        return [field, HIDDEN];
      }),
    );
  };
  return { shown: hide(value, 0), count };
}

/** An action that is about to be made, as operators are shown it; the key that it supersedes by is none. */
export function hidePayload<T extends { readonly payload?: unknown }>(action: T): T {
  return action.payload === undefined ? action : { ...action, payload: hideFields(action.payload).shown };
}

/** What was edited, with the values of `old` where it says `[hidden]`. */
export function withHidden(edited: unknown, old: unknown): unknown {
  if (Array.isArray(edited))
    return edited.map((one, n) => withHidden(one, Array.isArray(old) ? old[n] : undefined));
  if (edited === null || typeof edited !== 'object') return edited;
  const before = (old !== null && typeof old === 'object' && !Array.isArray(old) ? old : {}) as Record<
    string,
    unknown
  >;
  return Object.fromEntries(
    Object.entries(edited).map(([field, one]) => {
      const known = Object.hasOwn(before, field) ? before[field] : undefined;
      return [field, one === HIDDEN && known !== undefined ? known : withHidden(one, known)];
    }),
  );
}
