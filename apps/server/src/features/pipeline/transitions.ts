import { ACTION_TYPES, type ActionType, type Policy } from '@muster/contracts/words';
import type { PipelineCode } from './errors.ts';

/** The rules of the lifecycle: pure. What is allowed is in the table of the contracts. */
const BY_ID = new Map(ACTION_TYPES.map((type) => [type.id, type]));

export const typeOf = (id: number): ActionType | undefined => BY_ID.get(id);
export const UNLOCK = 6;
export const RELEASE = 9;
export const REGISTER = 2;

/** What the engine calls it. */
export const kindOf = (type: ActionType) => `pipeline.${type.name.toLowerCase().replace(' ', '-')}`;

export const isAllowed = (type: ActionType, policy: Policy) => type.from.includes(policy);

/** The policy after all of these, in the order in which they will be done. */
export function policyAfter(policy: Policy, typeIds: readonly number[]): Policy {
  return typeIds.reduce<Policy>((now, id) => typeOf(id)?.to ?? now, policy);
}

/** The same table in SQL: the policy that an action of type `typeId` leads to, or null. */
export const policyInSql = (typeId: string) =>
  `case ${typeId} ${ACTION_TYPES.flatMap(({ id, to }) => (to ? [`when ${id} then '${to}'`] : [])).join(' ')} end`;

/** What a device is for an assignment. */
export interface Standing {
  /** After all its unfinished actions. */
  readonly policy: Policy;
  readonly isBusy: boolean;
  readonly hasUnlockToken: boolean | null;
}

/** Why it cannot be assigned, or null. */
export function refusalOf(
  type: ActionType,
  device: Standing | undefined,
  whenBusy: 'REJECT' | 'QUEUE',
): PipelineCode | null {
  if (!device) return 'DEVICE_NOT_FOUND';
  if (device.isBusy && whenBusy === 'REJECT') return 'DEVICE_BUSY';
  if (!isAllowed(type, device.policy)) return 'INVALID_TRANSITION';
  if (type.id === UNLOCK && device.hasUnlockToken === false) return 'NO_UNLOCK_TOKEN';
  return null;
}
