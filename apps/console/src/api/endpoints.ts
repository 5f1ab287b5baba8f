import type { AnswerOf, api, BodyOf, Endpoint, ParamsOf, QueryOf } from '@muster/contracts';

/**
 * The server's endpoints as types, by method and path. Only types are imported from the contracts: their schemas would add a
 * validator of 60 KB, and the server validates every request anyway.
 */
type Doors = typeof api;
export type Method = Endpoint['method'];

type Nothing = Record<never, never>;
type Part<Name extends string, Value> = Nothing extends Value
  ? { readonly [N in Name]?: Value }
  : { readonly [N in Name]: Value };
type Given<E extends Endpoint> = {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
} & (E extends { params: object } ? Part<'params', ParamsOf<E>> : unknown) &
  (E extends { query: object } ? Part<'query', Loosely<QueryOf<E>>> : unknown) &
  (E extends { body: object } ? Part<'body', BodyOf<E>> : unknown);
/** Undefined values are not sent. */
type Loosely<Query> = { [Name in keyof Query]: Query[Name] | undefined };

/** Door by door: one union of all endpoints took the compiler 8 s. */
type OfDoor<Door, M extends Method> = {
  [Name in keyof Door as Door[Name] extends { readonly method: M; readonly path: infer P extends string }
    ? P
    : never]: Door[Name] extends Endpoint
    ? { given: Given<Door[Name]>; answer: AnswerOf<Door[Name]>['body'] }
    : never;
};
type Joined<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type ByPath<M extends Method> = Joined<{ [Door in keyof Doors]: OfDoor<Doors[Door], M> }[keyof Doors]>;
interface Routes {
  GET: ByPath<'GET'>;
  POST: ByPath<'POST'>;
  PUT: ByPath<'PUT'>;
  PATCH: ByPath<'PATCH'>;
  DELETE: ByPath<'DELETE'>;
}

export type PathOf<M extends Method> = keyof Routes[M] & string;
export type GivenTo<M extends Method, P extends PathOf<M>> = Routes[M][P] extends { given: infer G }
  ? G
  : never;
export type Answer<M extends Method, P extends PathOf<M>> = Routes[M][P] extends { answer: infer A }
  ? A
  : never;
/** An argument that may be omitted if all its fields are optional. */
export type Saying<M extends Method, P extends PathOf<M>> =
  Nothing extends GivenTo<M, P> ? [given?: GivenTo<M, P>] : [given: GivenTo<M, P>];
