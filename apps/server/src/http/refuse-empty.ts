import { httpError } from './errors.ts';

/** An empty patch asks for nothing; answering it with 200 would look as if something had changed. */
export function refuseEmpty(patch: object): void {
  if (Object.keys(patch).length === 0)
    throw httpError('MUSTER_BAD_BODY', 'The body is empty: give at least one field to change.');
}
