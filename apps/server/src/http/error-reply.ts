import { EngineError, isOutcomeUnknown } from '@muster/engine';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { MusterError } from '../errors.ts';
import { isDatabaseAway, isDataFailure, isLockFailure, isTooSlow } from './database-away.ts';

import { engineErrors, httpError, pathTooLong } from './errors.ts';
import { sentenceOf } from './validation.ts';

/** Translates everything that is thrown into {"error": sentence, "code": "MUSTER_…"} and a status. */
export function errorReply(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = translate(error, request);
  // one line without a stack for refusals under pressure: they come by the thousand. That a node drains is no news.
  if (known.status === 503 && (error instanceof EngineError || error instanceof MusterError))
    request.log[known.code === 'MUSTER_DRAINING' ? 'debug' : 'warn'](
      { reqId: request.id, code: known.code },
      'The request was refused.',
    );
  else if (known.status >= 500)
    request.log[known.status === 500 ? 'error' : 'warn'](
      { reqId: request.id, err: error, code: known.code },
      'The request failed.',
    );
  // The rest of a body that is too large is not read, so the connection cannot be used again.
  if (known.status === 413) reply.header('connection', 'close');
  if (known.status === 401) {
    const { access } = request.routeOptions.config;
    const scheme = access && !access.public && access.basic ? 'Basic' : 'Bearer';
    reply.header('www-authenticate', `${scheme} realm="muster"`);
  }
  if (known.retryAfter !== undefined || known.status === 503 || known.status === 429)
    reply.header('retry-after', String(known.retryAfter ?? someSeconds()));
  const { code } = known;
  const isGraphql = request.routeOptions.url === '/graphql';
  const isBatch = isGraphql && Array.isArray(request.body);
  const message = isBatch
    ? 'Batching is not supported: send one operation per request, as a JSON object.'
    : known.message;
  // GraphQL clients look for their own shape
  const also = isGraphql ? { errors: [{ message, extensions: { code } }] } : {};
  return reply.code(known.status).send({ error: message, code, ...also });
}

/** Clients that were refused together should not return together. */
function someSeconds(): number {
  return 1 + Math.floor(Math.random() * 4);
}

interface Asked {
  /** The id of the request. */
  readonly id: string;
  /** The request only reads. */
  readonly reads: boolean;
}

/** How a failure of a feature or the database is reported, over any protocol. */
export function failureOf(error: Error, { id, reads }: Asked): MusterError {
  if (error instanceof MusterError) return error;
  if (error instanceof EngineError) {
    const { status } = engineErrors[error.code];
    // such a client would have waited for half a minute: retrying every second makes no sense
    const options = error.code === 'MUSTER_TOO_MANY_WAITING' ? { retryAfter: 4 + someSeconds() } : {};
    return status === 500 ? internal(id, error) : new MusterError(error.code, status, error.message, options);
  }
  // never the message of an unknown error: it may hold a secret
  return ofDatabase(error, reads) ?? internal(id, error);
}

function translate(error: FastifyError | Error, request: FastifyRequest): MusterError {
  const isSafe = request.method === 'GET' || request.method === 'HEAD';
  const asked = { id: request.id, reads: isSafe && !request.routeOptions.config.claims };
  if (error instanceof MusterError || error instanceof EngineError) return failureOf(error, asked);
  if ('validation' in error && error.validation) return sentenceOf(error.validation, error.validationContext);
  if (request.raw.aborted) {
    // Its error looks like a lost connection to the database. No client receives this answer.
    request.log.debug({ reqId: request.id, err: error }, 'The client disconnected.');
    return httpError('MUSTER_BAD_REQUEST', 'The request was interrupted.');
  }
  return ofFastify(error, request) ?? failureOf(error, asked);
}

function ofFastify(error: FastifyError | Error, request: FastifyRequest): MusterError | undefined {
  switch ('code' in error ? error.code : '') {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return httpError(
        'MUSTER_TOO_LARGE',
        `The body is too large: at most ${request.routeOptions.bodyLimit / 1_048_576} MiB is read.`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return httpError('MUSTER_BAD_CONTENT_TYPE', contentTypes(request.routeOptions.config.takes));
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return httpError('MUSTER_BAD_REQUEST', 'The length of the body differs from Content-Length.');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return pathTooLong();
    case 'FST_ERR_BAD_URL':
      return httpError('MUSTER_BAD_PATH', 'The path of the request cannot be decoded.');
    default:
      return undefined;
  }
}

function contentTypes(takes: readonly string[] | undefined): string {
  if (!takes) return 'Send the body as JSON, with the header "content-type: application/json".';
  const all = takes.map((type) => `"${type}"`);
  return `Send the body with the header "content-type" and one of ${all.slice(0, -1).join(', ')} or ${all.at(-1)}.`;
}

function ofDatabase(error: Error, reads: boolean): MusterError | undefined {
  if (isDatabaseAway(error) && !reads && isOutcomeUnknown(error))
    return new MusterError(
      'MUSTER_NO_ANSWER',
      503,
      'The database did not answer. The outcome of the request is unknown.',
    );
  if (isDatabaseAway(error))
    return httpError('MUSTER_DATABASE_AWAY', 'The database does not answer. Try again.');
  if (isTooSlow(error))
    return httpError(
      'MUSTER_DATABASE_SLOW',
      'The database took too long and rolled the request back. Nothing was changed; try again.',
    );
  if (isLockFailure(error))
    return new MusterError(
      'MUSTER_LANE_BUSY',
      503,
      'Another transaction holds a lock this request needs. Try again.',
    );
  if (isDataFailure(error))
    return new MusterError('MUSTER_BAD_VALUE', 400, 'A value of the request cannot be stored.');
  return undefined;
}

function internal(id: string, cause: unknown): MusterError {
  return httpError(
    'MUSTER_INTERNAL',
    `Something went wrong in the server. Its log has the details under request ${id}.`,
    { cause },
  );
}
