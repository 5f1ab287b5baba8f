/** Every error the engine throws on purpose: a stable code, and a sentence for people. */
export type EngineErrorCode =
  | 'MUSTER_BAD_TEXT'
  | 'MUSTER_BAD_VALUE'
  | 'MUSTER_IDEMPOTENCY_MISMATCH'
  | 'MUSTER_LANE_BUSY'
  | 'MUSTER_LANE_FULL'
  | 'MUSTER_NO_ANSWER'
  | 'MUSTER_OTHER_INCARNATION'
  | 'MUSTER_OUTSIDE_TRANSACTION'
  | 'MUSTER_OVERLOADED'
  | 'MUSTER_SCHEMA_OTHER_LAYOUT'
  | 'MUSTER_SCHEMA_TOO_NEW'
  | 'MUSTER_SCHEMA_TOO_OLD'
  | 'MUSTER_STOPPING'
  | 'MUSTER_TOO_MANY_WAITING'
  | 'MUSTER_UNKNOWN_ACTION'
  | 'MUSTER_UNKNOWN_LANE'
  | 'MUSTER_UNKNOWN_RUNNER'
  | 'MUSTER_WRONG_GENERATION';

export class EngineError extends Error {
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EngineError';
    this.code = code;
  }
}

export const laneBusy = () =>
  new EngineError('MUSTER_LANE_BUSY', 'The lane is locked by another transaction. Try again.');

export const isLaneBusy = (error: unknown) =>
  error instanceof EngineError && error.code === 'MUSTER_LANE_BUSY';

export const noAnswer = () =>
  new EngineError(
    'MUSTER_NO_ANSWER',
    'The database did not answer in time. The outcome of the request is unknown.',
  );

export const overloaded = () =>
  new EngineError('MUSTER_OVERLOADED', 'Too many calls wait for the database. Nothing was done; try again.');
