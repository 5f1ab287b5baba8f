import type { LockedAction } from '@muster/contracts';
import type { Work } from './work.ts';

/** The fields on the wire that the agent reads. It ignores all others. */
export interface AgentAction
  extends Work,
    Readonly<Pick<LockedAction, 'hostId' | 'serviceId' | 'kind' | 'startedAt' | 'leaseUntil' | 'service'>> {}

/** The actions of an answer. Throws if the answer has another form. */
export function readActions(body: unknown): AgentAction[] {
  const { actions } = (body ?? {}) as { actions?: unknown };
  if (!Array.isArray(actions) || !actions.every(isAction))
    throw new Error('The response is not a list of actions.');
  return actions;
}

function isAction(value: unknown): value is AgentAction {
  const action = value as Partial<AgentAction> | null;
  return (
    typeof action === 'object' &&
    action !== null &&
    typeof action.id === 'string' &&
    typeof action.kind === 'string' &&
    Number.isInteger(action.attempt) &&
    typeof action.serviceId === 'string' &&
    typeof action.service?.unitName === 'string'
  );
}
