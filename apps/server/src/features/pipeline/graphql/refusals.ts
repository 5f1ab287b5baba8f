import { atLeast, type Role } from '@muster/contracts/words';
import { GraphQLError } from 'graphql';
import { failureOf } from '../../../http/error-reply.ts';
import { httpError } from '../../../http/errors.ts';
import { isStorable, unstorable } from '../../../http/json-body.ts';
import type { Log } from '../../../http/logging.ts';
import type { Caller } from '../../../tokens/caller.ts';
import { RefusedAssignment } from '../errors.ts';
import { DocumentOver, type DocumentReads } from './read-turns.ts';

/** The caller, and the name of the request in the log. */
export interface Context {
  readonly caller: Caller;
  readonly requestId: string;
  readonly log: Log;
  /** For a stream over HTTP: aborted when its client or its token is gone. */
  readonly signal?: AbortSignal | null;
  /** For a query: its turn to read. */
  readonly turn?: DocumentReads;
}

// biome-ignore lint/suspicious/noExplicitAny: arguments are checked against the schema before
export type Args = any;
export type Resolve = (parent: Args, args: Args, context: Context) => unknown;

/** As the client gets it: refusals with their code, internal errors with the name of the request in the log. */
export function errorOf(error: unknown, asked: { id: string; reads: boolean; log: Log }) {
  const { code, status, message } = failureOf(error as Error, asked);
  if (code === 'MUSTER_OVERLOADED') asked.log.warn({ reqId: asked.id, code }, 'The request was refused.');
  else if (status >= 500)
    asked.log[status === 500 ? 'error' : 'warn'](
      { reqId: asked.id, err: error, code },
      'The request failed.',
    );
  const batch = error instanceof RefusedAssignment ? { batchId: error.batchId } : {};
  return { code, message, status, error: new GraphQLError(message, { extensions: { code, ...batch } }) };
}

/** A read of its own, in its turn. */
export const inTurn =
  (resolve: (...asked: Parameters<Resolve>) => Promise<unknown>): Resolve =>
  (...asked) =>
    asked[2].turn ? asked[2].turn.read(() => resolve(...asked)) : resolve(...asked);

/**
 * Wraps every resolver that touches data. Texts in a document have not passed the checks of JSON bodies, so they are
 * checked here.
 */
export const refusable =
  (role: Role, resolve: Resolve, reads = true): Resolve =>
  async (parent, args, context) => {
    try {
      const { caller } = context;
      if (caller.role === null || !atLeast(caller.role, role))
        throw httpError(
          'MUSTER_FORBIDDEN',
          `This requires the role ${role}; the token has the role ${caller.role}.`,
        );
      if (!isStorable(args)) throw unstorable('document');
      return await resolve(parent, args, context);
    } catch (error) {
      if (error instanceof DocumentOver) throw error;
      throw errorOf(error, { id: context.requestId, reads, log: context.log }).error;
    }
  };
