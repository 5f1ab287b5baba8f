import { ENGINE_ERRORS, type ErrorEntry, HTTP_ERRORS } from '@muster/contracts/words';
import type { EngineErrorCode } from '@muster/engine';
import { errorsOf } from '../errors.ts';

/** Errors before a request reaches a feature, and errors that all features share. */
export const httpError = errorsOf(HTTP_ERRORS);

export const pathTooLong = () => httpError('MUSTER_PATH_TOO_LONG', 'A part of the path is too long.');

/** The engine's errors. A code unknown to the contracts does not compile. */
export const engineErrors: Readonly<Record<EngineErrorCode, ErrorEntry>> = ENGINE_ERRORS;
