import type { FastifyRequest } from 'fastify';
import type { Access } from '../../http/access.ts';
import { type Instance, instanceOf, workerOf } from '../../http/instance.ts';
import type { Caller } from '../../tokens/caller.ts';
import { hostError } from './errors.ts';
import { holderOf } from './wire.ts';

/**
 * Deployed agents rely on these exact sentences and headers. Checked in this order: cookie, header, token, and only
 * then parameters.
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

/** Carried by an agent's token, so a poll does not have to look up its host. */
export interface AgentOf {
  readonly hostId: string;
  readonly runnerId: string;
}

export interface Agent extends AgentOf {
  readonly tenantId: number;
  readonly instance: Instance | null;
  /** The name under which it holds its leases. Not the host's name, which may change meanwhile. */
  readonly worker: string;
}

export function agentOf(caller: Caller, request: FastifyRequest): Agent {
  const { hostId, runnerId } = caller.restriction as AgentOf;
  const instance = instanceOf(request);
  return {
    tenantId: caller.tenantId,
    hostId,
    runnerId,
    instance,
    worker: workerOf(holderOf(hostId), instance),
  };
}
