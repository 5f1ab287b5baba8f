import { httpError } from './errors.ts';

/** Of a patch: without a field nothing is asked for, and an answer 200 would look as if it was done. */
export function refuseEmpty(patch: object): void {
  if (Object.keys(patch).length === 0)
    throw httpError('MUSTER_BAD_BODY', 'The body is empty: give at least one field to change.');
}
