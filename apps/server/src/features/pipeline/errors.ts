import { PIPELINE_ERRORS } from '@muster/contracts/words';
import { errorsOf } from '../../errors.ts';

export const pipelineError = errorsOf(PIPELINE_ERRORS);
export type PipelineCode = keyof typeof PIPELINE_ERRORS;
