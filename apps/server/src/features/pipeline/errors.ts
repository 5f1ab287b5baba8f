import { PIPELINE_ERRORS } from '@muster/contracts/words';
import { errorsOf, MusterError } from '../../errors.ts';
import type { Refusal } from './transitions.ts';

export const pipelineError = errorsOf(PIPELINE_ERRORS);
export type PipelineCode = keyof typeof PIPELINE_ERRORS;

/** A refused assignment that is on record: its batch has one row that says so. */
export class RefusedAssignment extends MusterError {
  override readonly name = 'RefusedAssignment';
  readonly batchId: string;

  constructor({ code, message }: Refusal, batchId: string) {
    super(code, 409, message);
    this.batchId = batchId;
  }
}
