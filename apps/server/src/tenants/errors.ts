import { TENANT_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../errors.ts';

export const tenantError = errorsOf(TENANT_ERRORS);
