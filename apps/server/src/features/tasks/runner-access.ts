import type { FastifyRequest } from 'fastify';
import { type Instance, instanceOf, workerOf } from '../../http/instance.ts';
import type { Caller } from '../../tokens/caller.ts';
import { taskError } from './errors.ts';
import { holderOf } from './wire.ts';

/** Carried by a runner's token, so a claim does not have to look up its PC. */
export interface RunnerOf {
  readonly pcId: string;
  readonly runnerId: string;
}

export interface Runner extends RunnerOf {
  readonly tenantId: number;
  readonly instance: Instance | null;
  /** The name under which it holds its leases. */
  readonly worker: string;
}

/** The caller, who must be the runner of that PC. */
export function runnerOf(caller: Caller, request: FastifyRequest, pcId?: string): Runner {
  const own = caller.restriction as RunnerOf;
  if (pcId !== undefined && pcId !== own.pcId)
    throw taskError('MUSTER_WRONG_PC', 'This token belongs to the runner of another PC.');
  const instance = instanceOf(request);
  const worker = workerOf(holderOf(own.pcId), instance);
  return { tenantId: caller.tenantId, pcId: own.pcId, runnerId: own.runnerId, instance, worker };
}
