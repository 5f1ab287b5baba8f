import { ENGINE_ERRORS, type ErrorEntry, HTTP_ERRORS } from '@muster/contracts/words';
import type { EngineErrorCode } from '@muster/engine';
import { errorsOf } from '../errors.ts';

/** What can go wrong before a request reaches a feature, and what all of them refuse alike. */
export const httpError = errorsOf(HTTP_ERRORS);

export const pathTooLong = () => httpError('MUSTER_PATH_TOO_LONG', 'A part of the path is too long.');

/** The engine's refusals. A code that the contracts do not know does not compile. */
export const engineErrors: Readonly<Record<EngineErrorCode, ErrorEntry>> = ENGINE_ERRORS;
