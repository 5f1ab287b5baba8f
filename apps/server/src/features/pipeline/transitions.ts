import { ACTION_TYPES, type ActionType, PIPELINE_ERRORS, type Policy } from '@muster/contracts/words';

/** The rules of the lifecycle: pure. The allowed transitions are in the table of the contracts. */
const BY_ID = new Map(ACTION_TYPES.map((type) => [type.id, type]));

export const typeOf = (id: number): ActionType | undefined => BY_ID.get(id);
export const UNLOCK = 6;
export const RELEASE = 9;
export const REGISTER = 2;
export const DEREGISTER = 10;

/** Its kind in the engine. */
export const kindOf = (type: ActionType) => `pipeline.${type.name.toLowerCase().replace(' ', '-')}`;

export const isAllowed = (type: ActionType, policy: Policy) => type.from.includes(policy);

/** The policy after all of these, in the order in which they will be done. */
export function policyAfter(policy: Policy, typeIds: readonly number[]): Policy {
  return typeIds.reduce<Policy>((now, id) => typeOf(id)?.to ?? now, policy);
}

/** The same table in SQL: the policy that an action of type `typeId` leads to, or null. */
export const policyInSql = (typeId: string) =>
  `case ${typeId} ${ACTION_TYPES.flatMap(({ id, to }) => (to ? [`when ${id} then '${to}'`] : [])).join(' ')} end`;

/** Policies of devices that a vendor layer speaks to. */
export const MANAGED: readonly Policy[] = ['enrolled', 'active', 'locked'];

/**
 * Whether the outcome of an action of type `typeId` counts for the device's present policy, in SQL of a device `d` and
 * an execution `e`: the device is still managed, and has not begun a new life since the dispatch. What the server does
 * alone always counts.
 */
export const ofThisLife = (typeId: string, d: string, e: string) =>
  `(${typeId} not in (${ACTION_TYPES.filter(({ way }) => way === 'command').map(({ id }) => id)})
    or (${d}.policy in (${MANAGED.map((policy) => `'${policy}'`)}) and (${d}.life_began_at is null or ${e}.dispatched_at >= ${d}.life_began_at)))`;

/** The state of a device that an assignment depends on. */
export interface Standing {
  /** As it is now. */
  readonly current: Policy;
  /** After all its unfinished actions. */
  readonly policy: Policy;
  readonly isBusy: boolean;
  readonly hasUnlockToken: boolean | null;
}

export interface Refusal {
  /** A code of the catalogue, or one of the engine without its prefix. */
  readonly code: string;
  readonly message: string;
}

/** Why it cannot be assigned, or null. */
export function refusalOf(
  type: ActionType,
  device: Standing | undefined,
  whenBusy: 'REJECT' | 'QUEUE',
): Refusal | null {
  if (!device) return refused('DEVICE_NOT_FOUND');
  // what no device in any policy may be told does not become possible by waiting
  if (device.isBusy && whenBusy === 'REJECT' && type.from.length > 0) return refused('DEVICE_BUSY');
  if (!isAllowed(type, device.policy))
    return { code: 'INVALID_TRANSITION', message: transitionSentence(type, device) };
  if (type.id === UNLOCK && device.hasUnlockToken === false) return refused('NO_UNLOCK_TOKEN');
  return null;
}

function transitionSentence({ name, from }: ActionType, { current, policy }: Standing): string {
  const is =
    current === policy
      ? `The policy of the device is ${policy}`
      : `The policy of the device is ${current} and will be ${policy} after its unfinished actions`;
  const needs = from.length > 0 ? `${name} needs ${from.join(' or ')}` : `${name} creates a device`;
  return `${is}; ${needs}.`;
}

/** For a code about which nothing more is known. */
export function refused(code: string): Refusal {
  const known = Object.hasOwn(PIPELINE_ERRORS, code)
    ? PIPELINE_ERRORS[code as keyof typeof PIPELINE_ERRORS]
    : undefined;
  return { code, message: known?.meaning ?? 'The action could not be queued for the device.' };
}
