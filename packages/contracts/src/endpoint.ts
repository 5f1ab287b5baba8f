import type { z } from 'zod';

/**
 * One request and what may be answered to it. The server joins it with who may ask and what happens (`defineRoute`), the
 * client with an address and a token; the published description is made from it. Schemas carry no transforms and no
 * defaults: what passes is what came.
 */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/lanes/:lane/claim` */
  readonly path: string;
  readonly summary: string;
  /** HEAD answers as GET does, without the body. Only for what changes nothing: some GET endpoints claim. */
  readonly head?: true;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Content types of a body that is not JSON: it is read as it comes, however long it is. */
  readonly takes?: readonly string[];
  /** The body is bytes, of these content types as a rule; any other, or none, is taken as well. Bounded as JSON is. */
  readonly bytes?: readonly string[];
  /** Request headers that mean something here. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses of success and what they answer; refusals are the same everywhere. */
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema?: z.ZodType }>>;
  /** What is answered if it is not JSON. */
  readonly produces?: string;
}

/** Keeps the exact types of what it is given, which an annotation would widen. */
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
/** One of what may be answered if nothing is refused, told apart by its status. */
export type AnswerOf<E extends Endpoint> = Answers<E['responses']>[keyof E['responses'] & number];
