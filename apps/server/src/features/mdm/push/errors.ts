import { PUSH_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../../errors.ts';

export const pushError = errorsOf(PUSH_ERRORS);
