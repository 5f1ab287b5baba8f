import { SECRETS_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../errors.ts';

export const secretsError = errorsOf(SECRETS_ERRORS);
