import { refusal } from '@muster/contracts';
import { DEFAULT_TENANT_NAME } from '../tenants/default-tenant.ts';
import type { Access } from './access.ts';
import type { Route } from './define-route.ts';
import { schemaForOpenApi } from './json-schema.ts';

/** The description of the interface, made from the objects that serve it. */
export function openApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const named = new Map<string, object>();
  const error = schemaForOpenApi(refusal, named);
  const sorted = routes.toSorted((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1));
  for (const route of sorted) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}').replace('*', `{${REST}}`);
    paths[path] ??= {};
    const methods = paths[path] as Record<string, object>;
    methods[route.method.toLowerCase()] = operation(route, named);
    if (route.head) methods.head = operation({ ...route, responses: withoutBodies(route) }, named);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version,
      description: 'A command plane for fleets that are not always online.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    security: [{ token: [] }],
    paths,
    components: {
      schemas: Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      responses: {
        Refused: {
          description: 'Refused; nothing was changed.',
          content: { 'application/json': { schema: error } },
        },
      },
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: `A token from muster token create or POST /api/tokens. Tenant 1 is "${DEFAULT_TENANT_NAME}".`,
        },
      },
    },
  };
}

/** The name of the rest of a path that ends in `*`. */
const REST = 'destination';

function withoutBodies({ responses }: Route): Route['responses'] {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description }]) => [status, { description }]),
  );
}

function operation(route: Route, named: Map<string, object>): object {
  const parameters = [
    ...properties(route.params, named).map((p) => ({ ...p, in: 'path', required: true })),
    ...(route.path.endsWith('/*')
      ? [{ name: REST, in: 'path', required: true, schema: { type: 'string' } }]
      : []),
    ...properties(route.query, named).map((p) => ({ ...p, in: 'query' })),
    ...Object.entries(route.headers ?? {}).map(([name, description]) => ({
      name,
      in: 'header',
      description,
      schema: { type: 'string' },
    })),
  ];
  return {
    summary: route.summary,
    ...(route.access.public ? { security: [] } : { description: who(route.access) }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { content: { 'application/json': { schema: schemaForOpenApi(route.body, named) } } } }
      : {}),
    ...(route.bytes
      ? {
          requestBody: {
            content: Object.fromEntries(
              route.bytes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
            ),
          },
        }
      : {}),
    ...(route.takes
      ? { requestBody: { content: Object.fromEntries(route.takes.map((type) => [type, {}])) } }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, { description, schema }]) => [
          status,
          {
            description,
            ...(schema
              ? {
                  content: {
                    [route.produces ?? 'application/json']: { schema: schemaForOpenApi(schema, named) },
                  },
                }
              : {}),
          },
        ]),
      ),
      default: { $ref: '#/components/responses/Refused' },
    },
  };
}

function who(access: Access): string {
  if (access.public) return 'Needs no token.';
  const kinds = access.kinds.map((kind) => `${kind} tokens`);
  return `For ${[...(access.role ? [`operators with the role ${access.role} or higher`] : []), ...kinds].join(' and ')}.`;
}

interface ObjectSchema {
  properties?: Record<string, { description?: string }>;
  required?: string[];
}

function properties(
  schema: Route['query'],
  named: Map<string, object>,
): { name: string; required?: boolean; schema: object }[] {
  if (!schema) return [];
  const { properties: all = {}, required = [] } = schemaForOpenApi(schema, named) as ObjectSchema;
  return Object.entries(all).map(([name, one]) => ({
    name,
    ...(required.includes(name) ? { required: true } : {}),
    schema: one,
  }));
}
