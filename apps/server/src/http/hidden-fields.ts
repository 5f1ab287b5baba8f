/**
 * Secret fields of payloads and results: fields called password, token, secret, key or pin are shown as `[hidden]`
 * wherever operators read, and whole to the client that executes the action. A `[hidden]` that is sent back stands for
 * the value stored at the same place.
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
/** Below this depth nothing is searched, and nothing is shown. */
const DEEPEST = 100;

/** Names that devices use: profiles with Wi-Fi passwords, codes that unlock a device. */
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

/** An action about to be created, as operators see it. The key by which it supersedes others is not secret. */
export function hidePayload<T extends { readonly payload?: unknown }>(action: T): T {
  return action.payload === undefined ? action : { ...action, payload: hideFields(action.payload).shown };
}

/** The edited value, with the values of `old` wherever it says `[hidden]`. */
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
