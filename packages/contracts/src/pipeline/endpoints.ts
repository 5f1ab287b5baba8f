import { z } from 'zod';
import { endpoint } from '../endpoint.ts';

/** GraphQL over HTTP: the schema is apps/server/schema.graphql. */
const MOST_QUERY = 20_000;
const query = z.string().max(MOST_QUERY);
const operation = {
  operationName: z.string().max(200).nullable().optional(),
  variables: z.record(z.string(), z.unknown()).nullable().optional(),
  extensions: z.record(z.string(), z.unknown()).nullable().optional(),
};
const answer = z
  .looseObject({
    data: z.unknown().optional(),
    errors: z
      .array(
        z.looseObject({
          message: z.string(),
          extensions: z.looseObject({ code: z.string().optional() }).optional(),
        }),
      )
      .optional(),
  })
  .meta({ id: 'GraphqlAnswer' });
const responses = {
  200: { description: 'Data and errors, or a stream of them.', schema: answer },
  400: { description: 'The document is invalid.', schema: answer },
  405: { description: 'A mutation by GET.', schema: answer },
};

export const pipeline = {
  graphql: endpoint({
    method: 'POST',
    path: '/graphql',
    summary: 'GraphQL: assign actions to devices and follow them',
    body: z.strictObject({ query, ...operation }),
    headers: { Accept: 'text/event-stream: a subscription as server-sent events (graphql-sse).' },
    responses,
  }),
  graphqlByGet: endpoint({
    method: 'GET',
    path: '/graphql',
    summary: 'GraphQL: queries and subscriptions in the URL; with an upgrade, a WebSocket (graphql-ws)',
    query: z.strictObject({
      query: query.optional(),
      operationName: z.string().max(200).optional(),
      variables: z.string().max(MOST_QUERY).optional(),
      extensions: z.string().max(MOST_QUERY).optional(),
    }),
    responses,
  }),
};
