import { DEFAULT_TENANT_NAME } from '../tenants/default-tenant.ts';
import type { Access } from './access.ts';
import type { Route } from './define-route.ts';
import { schemaForOpenApi } from './json-schema.ts';

/** The description of the interface, made from the very objects that serve it. */
export function openApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const sorted = routes.toSorted((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1));
  for (const route of sorted) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    const methods = paths[path] as Record<string, object>;
    methods[route.method.toLowerCase()] = operation(route);
    if (route.head) methods.head = operation({ ...route, responses: withoutBodies(route) });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version,
      description: 'A command plane for fleets that are not always online.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas: {
        Error: {
          type: 'object',
          properties: {
            error: { type: 'string', description: 'A sentence for people.' },
            code: { type: 'string', pattern: '^MUSTER_', description: 'Stays the same; see docs/errors.md.' },
          },
          required: ['error', 'code'],
          additionalProperties: false,
        },
      },
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: `A token of muster token create or POST /api/tokens. Tenant 1 is "${DEFAULT_TENANT_NAME}".`,
        },
      },
    },
  };
}

function withoutBodies({ responses }: Route): Route['responses'] {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description }]) => [status, { description }]),
  );
}

function operation(route: Route): object {
  const parameters = [
    ...properties(route.params).map((p) => ({ ...p, in: 'path', required: true })),
    ...properties(route.query).map((p) => ({ ...p, in: 'query' })),
    ...Object.entries(route.headers ?? {}).map(([name, description]) => ({
      name,
      in: 'header',
      description,
      schema: { type: 'string' },
    })),
  ];
  return {
    summary: route.summary,
    ...(route.access.public
      ? { security: [] }
      : { security: [{ token: [] }], description: who(route.access) }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { content: { 'application/json': { schema: schemaForOpenApi(route.body) } } } }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, { description, schema }]) => [
          status,
          {
            description,
            ...(schema
              ? { content: { [route.produces ?? 'application/json']: { schema: schemaForOpenApi(schema) } } }
              : {}),
          },
        ]),
      ),
      default: {
        description: 'Refused; nothing was changed.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function who(access: Access): string {
  if (access.public) return 'Anybody.';
  const kinds = access.kinds.map((kind) => `${kind} tokens`);
  return `For ${[...(access.role ? [`operators from the role ${access.role}`] : []), ...kinds].join(' and ')}.`;
}

interface ObjectSchema {
  properties?: Record<string, { description?: string }>;
  required?: string[];
}

function properties(schema: Route['query']): { name: string; required?: boolean; schema: object }[] {
  if (!schema) return [];
  const { properties: all = {}, required = [] } = schemaForOpenApi(schema) as ObjectSchema;
  return Object.entries(all).map(([name, one]) => ({
    name,
    ...(required.includes(name) ? { required: true } : {}),
    schema: one,
  }));
}
