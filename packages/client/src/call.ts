import type { AnswerOf, BodyOf, Endpoint, ParamsOf, QueryOf } from '@muster/contracts';

/** The arguments and the result of a call, derived from its endpoint: other arguments do not compile. */
export interface Sending {
  /** Ends the call, a long poll too. */
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

type Nothing = Record<never, never>;

/** A part whose fields are all optional may be left out. */
type Part<Name extends string, Value> = Nothing extends Value
  ? { readonly [N in Name]?: Value }
  : { readonly [N in Name]: Value };
type BodyPart<E extends Endpoint> = E extends { takes: readonly string[] }
  ? { readonly body: RequestInit['body']; readonly contentType: E['takes'][number] }
  : E extends { body: object }
    ? Part<'body', BodyOf<E>>
    : unknown;

export type Input<E extends Endpoint> = Sending &
  (E extends { params: object } ? Part<'params', ParamsOf<E>> : unknown) &
  (E extends { query: object } ? Part<'query', QueryOf<E>> : unknown) &
  BodyPart<E>;

/** Distinguished by status: `if (answer.status === 204) …`. */
export type Answered<E extends Endpoint> = AnswerOf<E> & { readonly headers: Headers };

export type Call<E extends Endpoint> =
  Nothing extends Input<E>
    ? (input?: Input<E>) => Promise<Answered<E>>
    : (input: Input<E>) => Promise<Answered<E>>;
