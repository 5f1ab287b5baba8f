import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { isTooNested, tooNested } from './nesting.ts';
import { type Context, errorOf } from './refusals.ts';

const BAD_VARIABLES = 'BAD_USER_INPUT';
const INTERNAL = 500;

/**
 * Gives every error of a document a code: one that nests too deeply is not parsed, values of a wrong type are the
 * client's error, and an internal error names its request in the log, as on every other route.
 */
export function codedErrors(): Plugin<Context> {
  return {
    onParse({ context, params: { source }, parseFn, setParseFn }) {
      setParseFn((...given: Parameters<typeof parseFn>) => {
        if (isTooNested(String(typeof source === 'string' ? source : source.body))) throw tooNested();
        return orFault(context, () => parseFn(...given));
      });
    },
    onValidate({ context, validateFn, setValidationFn }) {
      setValidationFn((...given: Parameters<typeof validateFn>) =>
        orFault(context, () => validateFn(...given)),
      );
    },
    onExecute({ args: { contextValue } }) {
      return {
        onExecuteDone({ result, setResult }) {
          if (!(Symbol.asyncIterator in result)) setResult(coded(result, contextValue));
        },
      };
    },
    onSubscribe({ args: { contextValue } }) {
      return {
        onSubscribeResult({ result, setResult }) {
          if (!(Symbol.asyncIterator in result)) setResult(coded(result, contextValue));
        },
      };
    },
  };
}

const faultOf = (error: unknown, { log, requestId: id }: Context) => {
  const { message, code } = errorOf(error, { id, reads: true, log });
  return new GraphQLError(message, { extensions: { code, http: { status: INTERNAL } } });
};

function orFault<Value>(context: Context, run: () => Value): Value {
  try {
    return run();
  } catch (error) {
    throw error instanceof GraphQLError ? error : faultOf(error, context);
  }
}

function coded(result: ExecutionResult, context: Context): ExecutionResult {
  if (!result.errors) return result;
  return { ...result, errors: result.errors.map((error) => withCode(error, context)) };
}

function withCode(error: GraphQLError, context: Context): GraphQLError {
  if (error.extensions.code !== undefined) return error;
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  const { nodes = null, path = null } = error;
  if (!(cause instanceof GraphQLError)) {
    const { message, extensions } = errorOf(cause, {
      ...{ id: context.requestId, reads: true, log: context.log },
    }).error;
    return new GraphQLError(message, { nodes, path, extensions });
  }
  return new GraphQLError(error.message, { nodes, path, extensions: { code: BAD_VARIABLES } });
}
