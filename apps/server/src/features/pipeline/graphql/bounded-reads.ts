import { GraphQLError, getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ReadTurns } from './read-turns.ts';
import { type Context, errorOf } from './refusals.ts';

/**
 * Bounds the reads of every query; beyond the limit the whole query is answered 503. Mutations are gathered, or run one
 * after the other.
 */
export function boundedReads(turns: ReadTurns): Plugin {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args) => {
        if (getOperationAST(args.document, args.operationName)?.operation !== 'query') return executeFn(args);
        const context = args.contextValue as Context;
        const { caller, log, requestId: id } = context;
        let turn: ReturnType<ReadTurns['begin']>;
        try {
          turn = turns.begin(caller);
        } catch (error) {
          const { code, message, status } = errorOf(error, { id, reads: true, log });
          return { errors: [new GraphQLError(message, { extensions: { code, http: { status } } })] };
        }
        try {
          return await executeFn({ ...args, contextValue: { ...context, turn } });
        } finally {
          turn.end();
        }
      });
    },
  };
}
