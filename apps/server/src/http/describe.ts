import { api } from '@muster/contracts';
import { anybody } from './access.ts';
import { defineRoute, type Route } from './define-route.ts';
import { openApi } from './openapi.ts';

/** The given routes, and one more that describes them all. */
export function describe(routes: readonly Route[], version: string): Route[] {
  let text: string | undefined;
  const all: Route[] = [
    ...routes,
    defineRoute(api.server.description, {
      access: anybody,
      handler({ reply }) {
        text ??= JSON.stringify(openApi(all, version));
        return reply.type('application/json').send(text);
      },
    }),
  ];
  return all;
}
