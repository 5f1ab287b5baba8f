import { ACTION_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const actionError = errorsOf(ACTION_ERRORS);
