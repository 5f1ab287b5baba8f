import { CALLBACK_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const callbackError = errorsOf(CALLBACK_ERRORS);
