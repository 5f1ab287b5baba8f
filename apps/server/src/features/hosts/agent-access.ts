import type { Access } from '../../http/access.ts';
import type { Caller } from '../../tokens/caller.ts';
import { hostError } from './errors.ts';

/**
 * Agents out there know these sentences and headers, letter by letter. Checked in this order: cookie, header, token,
 * and only then parameters.
 */
export const agents: Access = {
  public: false,
  role: null,
  kinds: ['agent'],
  refuseCookies: true,
  refusals: {
    cookies: () => hostError('MUSTER_AGENT_COOKIES', 'Cookies not allowed for agent endpoints'),
    header: () => hostError('MUSTER_AGENT_HEADER', 'Authorization header with Bearer token required'),
    token: () => hostError('MUSTER_AGENT_TOKEN', 'Unauthorized. Valid agent token required.'),
  },
};

export const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  vary: 'Authorization',
  connection: 'keep-alive',
} as const;

/** What an agent's token carries, so that a poll needs no look-up to know its host. */
export interface AgentOf {
  readonly hostId: string;
  readonly runnerId: string;
}

export function agentOf(caller: Caller): AgentOf & { readonly tenantId: number; readonly worker: string } {
  const { hostId, runnerId } = caller.restriction as AgentOf;
  return { tenantId: caller.tenantId, worker: caller.name, hostId, runnerId };
}
