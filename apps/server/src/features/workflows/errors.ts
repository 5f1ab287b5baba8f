import { WORKFLOW_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const workflowError = errorsOf(WORKFLOW_ERRORS);
