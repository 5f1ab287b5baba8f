import type { LockedAction } from '@muster/contracts';
import type { Work } from './work.ts';

/** What goes over the wire, as far as the agent looks at it. What it does not know it ignores. */
export interface AgentAction
  extends Work,
    Readonly<Pick<LockedAction, 'hostId' | 'serviceId' | 'kind' | 'startedAt' | 'leaseUntil' | 'service'>> {}

/** The actions of an answer. Throws if the server speaks another language. */
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
