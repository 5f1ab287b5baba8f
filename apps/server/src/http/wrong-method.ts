import type { FastifyReply, FastifyRequest } from 'fastify';
import { methodsOf, type Route } from './define-route.ts';
import { httpError } from './errors.ts';

/** Folders of paths known from other products, and their refusal. */
export interface NotOffered {
  readonly folders: readonly string[];
  refusal(folder: string): Error;
}

/** Tells a wrong method (405, with the allowed ones) from a wrong path (404). Only asked when no route matched. */
export class WrongMethods {
  readonly #paths: { readonly form: RegExp; readonly route: Route }[];
  /** Folders where every answer has certain headers, even for unknown paths. */
  readonly #folders: { readonly folder: string; readonly headers: Readonly<Record<string, string>> }[];

  readonly #notOffered: readonly NotOffered[];

  constructor(routes: readonly Route[], notOffered: readonly NotOffered[] = []) {
    this.#notOffered = notOffered;
    this.#paths = routes.map((route) => ({
      form: new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+').replace('*', '.+')}$`),
      route,
    }));
    this.#folders = routes.flatMap(({ answerHeaders, path }) =>
      answerHeaders ? [{ folder: path.slice(0, path.lastIndexOf('/')), headers: answerHeaders }] : [],
    );
  }

  headersOf(path: string): Readonly<Record<string, string>> {
    const found = this.#folders.find(({ folder }) => isUnder(folder, path));
    return found?.headers ?? {};
  }

  answer(request: FastifyRequest, reply: FastifyReply): never {
    const [path = '/'] = request.url.split('?');
    const routes = this.#paths.filter(({ form }) => form.test(path)).map(({ route }) => route);
    reply.headers(this.headersOf(path));
    if (routes.length === 0)
      for (const { folders, refusal } of this.#notOffered)
        for (const folder of folders) if (isUnder(folder, path)) throw refusal(folder);
    if (routes.length === 0) throw httpError('MUSTER_UNKNOWN_ROUTE', 'There is nothing at this path.');
    const allowed = [...new Set(routes.flatMap(methodsOf))].sort().join(', ');
    reply.header('allow', allowed);
    throw httpError('MUSTER_WRONG_METHOD', `${request.method} is not allowed here; allowed: ${allowed}.`);
  }
}

const isUnder = (folder: string, path: string) => path === folder || path.startsWith(`${folder}/`);
