import type { z } from 'zod';

/**
 * One request and its possible responses. The server adds access and a handler (`defineRoute`), the client an address
 * and a token; the published description is made from it. Schemas carry no transforms and no defaults: values pass
 * unchanged.
 */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/lanes/:lane/claim` */
  readonly path: string;
  readonly summary: string;
  /** HEAD answers as GET does, without the body. Only for endpoints that change nothing: some GET endpoints claim. */
  readonly head?: true;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Content types of a body that is not JSON: it is streamed, without a length limit. */
  readonly takes?: readonly string[];
  /**
   * The body is bytes, usually of these content types; any other, or none, is accepted as well. The length limit of
   * JSON applies.
   */
  readonly bytes?: readonly string[];
  /** Request headers that this endpoint reads. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Success statuses and their responses; refusals are the same everywhere. */
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema?: z.ZodType }>>;
  /** The content type of a response that is not JSON. */
  readonly produces?: string;
}

/** Keeps the exact types of its argument, which an annotation would widen. */
export function endpoint<const E extends Endpoint>(facts: E): E {
  return facts;
}

type Of<Schema> = Schema extends z.ZodType ? z.input<Schema> : unknown;
export type BodyOf<E extends Endpoint> = Of<E['body']>;
export type QueryOf<E extends Endpoint> = Of<E['query']>;
export type ParamsOf<E extends Endpoint> = Of<E['params']>;

type Responses = Endpoint['responses'];
type Answers<R extends Responses> = {
  [Status in keyof R & number]: {
    readonly status: Status;
    readonly body: R[Status] extends { schema: infer Schema extends z.ZodType }
      ? z.output<Schema>
      : undefined;
  };
};
/** One of the successful responses, distinguished by status. */
export type AnswerOf<E extends Endpoint> = Answers<E['responses']>[keyof E['responses'] & number];
