import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Caller } from '../tokens/caller.ts';
import type { Access } from './access.ts';

/** What a handler gets: everything is checked against the schemas of its route already. */
export interface Call<Body, Query, Params> {
  readonly body: Body;
  readonly query: Query;
  readonly params: Params;
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/lanes/:lane/claim` */
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  /** HEAD answers as GET does, without the body. Only for what changes nothing: some GET routes claim. */
  readonly head?: true;
  /** Statuses of success and what they answer; refusals are the same everywhere. */
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema?: z.ZodType }>>;
  /** Request headers that mean something here. */
  readonly headers?: Readonly<Record<string, string>>;
  /** On every answer, refusals included. */
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** What is answered if it is not JSON. */
  readonly produces?: string;
  /** The largest body in bytes, if it is not the usual 1 MiB. */
  readonly bodyLimit?: number;
  /** Content types whose body is not read here at all: the handler gets it as a stream in `request.raw`. */
  readonly streams?: readonly string[];
}

/** Schemas carry no transforms and no defaults: ajv checks, and the handler gets the JSON as it came. */
export interface RouteDefinition<B extends z.ZodType, Q extends z.ZodType, P extends z.ZodType>
  extends RouteFacts {
  readonly body?: B;
  readonly query?: Q;
  readonly params?: P;
  handler(call: Call<z.input<B>, z.input<Q>, z.input<P>>): unknown;
}

/** A route as the rest of the house sees it. */
export interface Route extends RouteFacts {
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  readonly params?: z.ZodType;
  handler(call: Call<unknown, unknown, unknown>): unknown;
}

export function defineRoute<B extends z.ZodType, Q extends z.ZodType, P extends z.ZodType>(
  definition: RouteDefinition<B, Q, P>,
): Route {
  // The schemas of the definition stand between the wire and the handler, so the types hold.
  return definition as unknown as Route;
}

export function methodsOf({ head, method }: Pick<Route, 'head' | 'method'>): string[] {
  return head ? [method, 'HEAD'] : [method];
}
