import { TOKEN_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../errors.ts';

export const tokenError = errorsOf(TOKEN_ERRORS);
