import { BATCH_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const batchError = errorsOf(BATCH_ERRORS);
