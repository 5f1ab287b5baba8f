import type { ClaimedAction } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { httpError } from './errors.ts';

/**
 * Tells several clients with one token apart: a cloned machine, a container that lost its state folder. What one holds
 * is never handed to another, which is told since when and until when it is held. All clients that send no instance
 * count as one.
 */
export interface Instance {
  readonly id: string;
  /** The version in its User-Agent. */
  readonly version: string | null;
}

const FORM = /^[A-Za-z0-9_-]{8,64}$/;
const MOST_VERSION = 100;

export function instanceOf(request: FastifyRequest): Instance | null {
  const header = request.headers['muster-instance'];
  if (header === undefined) return null;
  const id = [header].flat().join(', ');
  if (!FORM.test(id))
    throw httpError(
      'MUSTER_BAD_HEADER',
      'Muster-Instance must have from 8 to 64 letters, digits, underscores and hyphens.',
    );
  const said = request.headers['user-agent'] ?? '';
  const version = said.replace(/[^\x20-\x7e]/g, '?').slice(0, MOST_VERSION);
  return { id, version: version === '' ? null : version };
}

/** The name under which an instance of a target (`host:1`) holds its leases. */
export const workerOf = (target: string, instance: Instance | null) =>
  instance ? `${target}#${instance.id}` : target;
/** The target of a worker; it has no `#`. */
export const targetOf = (worker: string) => worker.split('#', 1)[0] as string;

/** What other clients with the same token hold. */
export function heldElsewhere(
  held: readonly Pick<ClaimedAction, 'id' | 'attempt' | 'worker' | 'leasedAt' | 'leaseUntil'>[],
  worker: string,
) {
  return held
    .filter((action) => action.worker !== worker)
    .map((action) => ({
      id: action.id,
      attempt: action.attempt,
      instance: action.worker.split('#')[1] ?? null,
      since: action.leasedAt,
      until: action.leaseUntil,
    }));
}

export const HELD_ELSEWHERE = 'muster-held-elsewhere';

/** For an answer without work: `id=7, attempt=1, instance=4f…, since=…, until=…` of the action held longest. */
export function tellHeldElsewhere(reply: FastifyReply, held: ReturnType<typeof heldElsewhere>): void {
  const [first] = held;
  if (!first) return;
  const { id, attempt, instance, since, until } = first;
  reply.header(
    HELD_ELSEWHERE,
    `id=${id}, attempt=${attempt}, instance=${instance ?? 'unnamed'}, since=${since.toISOString()}, until=${until.toISOString()}`,
  );
}
