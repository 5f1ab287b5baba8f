import { MDM_ERRORS } from '@muster/contracts/words';
import { MdmError } from '@muster/mdm';
import { errorsOf, type MusterError } from '../../errors.ts';

export const mdmError = errorsOf(MDM_ERRORS);

/** Any error in a message of a phone: 400, and never a status that makes the phone leave. */
export const refused = (sentence: string, cause?: unknown): MusterError =>
  mdmError('MUSTER_MDM_REFUSED', sentence, { cause });

/** Turns errors of the protocol into our refusals; rethrows anything else. */
export function asRefusal(error: unknown): never {
  if (error instanceof MdmError) throw refused(error.message, error);
  throw error;
}
