import type { Copy, Copying } from '../../copying/copying.ts';
import { httpError } from '../../http/errors.ts';

const KINDS = ['start', 'stop', 'restart'];

/** A copy may do something else with the service, but not with another service. */
export const copyHostAction =
  ({ plain }: Copying): Copy =>
  (tx, old, request) => {
    const { kind, payload } = request.changes;
    if (payload !== undefined)
      throw httpError('MUSTER_BAD_BODY', 'payload cannot be changed in a copy of a host action.');
    if (kind !== undefined && !KINDS.includes(kind))
      throw httpError('MUSTER_BAD_BODY', `kind must be one of ${KINDS.join(', ')}.`);
    return plain(tx, old, request);
  };
