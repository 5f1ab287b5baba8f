import { MDM_ERRORS } from '@muster/contracts/words';
import { MdmError } from '@muster/mdm';
import { errorsOf, type MusterError } from '../../errors.ts';

export const mdmError = errorsOf(MDM_ERRORS);

/** Whatever is wrong with a message of a phone: 400, and never a word that makes it leave. */
export const refused = (sentence: string, cause?: unknown): MusterError =>
  mdmError('MUSTER_MDM_REFUSED', sentence, { cause });

/** What the protocol refuses, in our words; anything else is thrown on. */
export function asRefusal(error: unknown): never {
  if (error instanceof MdmError) throw refused(error.message, error);
  throw error;
}
