import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from './define-route.ts';
import { httpError } from './errors.ts';

/** Tells a wrong method (405, with those that exist) from a wrong path (404). Only asked when nothing matched. */
export class WrongMethods {
  readonly #paths: { readonly form: RegExp; readonly route: Route }[];

  constructor(routes: readonly Route[]) {
    this.#paths = routes.map((route) => ({
      form: new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+')}$`),
      route,
    }));
  }

  answer(request: FastifyRequest, reply: FastifyReply): never {
    const [path = '/'] = request.url.split('?');
    const routes = this.#paths.filter(({ form }) => form.test(path)).map(({ route }) => route);
    for (const { answerHeaders } of routes) if (answerHeaders) reply.headers(answerHeaders);
    if (routes.length === 0) throw httpError('MUSTER_UNKNOWN_ROUTE', 'There is nothing under this path.');
    const allowed = [...new Set(routes.map(({ method }) => method))].sort().join(', ');
    reply.header('allow', allowed);
    throw httpError('MUSTER_WRONG_METHOD', `This path does not know ${request.method}; it knows ${allowed}.`);
  }
}
