import type { BodyOf, Endpoint, ParamsOf, QueryOf } from '@muster/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../tokens/caller.ts';
import type { Access } from './access.ts';

/** What a handler gets, already checked against the schemas of its endpoint. */
export interface Call<Body, Query, Params> {
  readonly body: Body;
  readonly query: Query;
  readonly params: Params;
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export type CallOf<E extends Endpoint> = Call<BodyOf<E>, QueryOf<E>, ParamsOf<E>>;

/** What the server adds to an endpoint of the contracts. */
interface Serving {
  readonly access: Access;
  /** On every answer, refusals included. */
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** A GET that changes something: it hands out work. */
  readonly claims?: true;
  /** The largest body in bytes, if it is not the usual 1 MiB. */
  readonly bodyLimit?: number;
  /** A part of its path is a list, which may be longer than any name. */
  readonly takesLists?: boolean;
  /** Answered until the port is closed, while other requests are already refused. */
  readonly evenStopping?: boolean;
}

/** A route as the rest of the server sees it. */
export interface Route extends Endpoint, Serving {
  handler(call: Call<unknown, unknown, unknown>): unknown;
}

export function defineRoute<E extends Endpoint>(
  endpoint: E,
  serving: Serving & { handler(call: CallOf<E>): unknown },
): Route {
  // The schemas are checked between the wire and the handler, so the types hold.
  return { ...endpoint, ...serving } as unknown as Route;
}

export function methodsOf({ head, method }: Pick<Route, 'head' | 'method'>): string[] {
  return head ? [method, 'HEAD'] : [method];
}
