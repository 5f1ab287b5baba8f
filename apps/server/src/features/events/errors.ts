import { FEED_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const feedError = errorsOf(FEED_ERRORS);
