import { CHECKIN_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const checkinError = errorsOf(CHECKIN_ERRORS);
