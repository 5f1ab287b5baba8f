import { z } from 'zod';
import { anybody } from './access.ts';
import { defineRoute, type Route } from './define-route.ts';
import { openApi } from './openapi.ts';

/** The routes, and one more that describes them all. */
export function describe(routes: readonly Route[], version: string): Route[] {
  let text: string | undefined;
  const all: Route[] = [
    ...routes,
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      access: anybody,
      summary: 'This description',
      responses: { 200: { description: 'OpenAPI 3.1.', schema: z.looseObject({ openapi: z.string() }) } },
      handler({ reply }) {
        text ??= JSON.stringify(openApi(all, version));
        return reply.type('application/json').send(text);
      },
    }),
  ];
  return all;
}
