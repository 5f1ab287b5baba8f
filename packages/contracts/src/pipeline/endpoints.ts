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
  200: { description: 'What was asked for and what was refused, or a stream of it.', schema: answer },
  400: { description: 'The document is wrong.', schema: answer },
  405: { description: 'A change by GET.', schema: answer },
};

export const pipeline = {
  graphql: endpoint({
    method: 'POST',
    path: '/graphql',
    summary: 'GraphQL: what devices are told to do and what becomes of it',
    body: z.strictObject({ query, ...operation }),
    headers: { Accept: 'text/event-stream: a subscription as server-sent events (graphql-sse).' },
    responses,
  }),
  graphqlByGet: endpoint({
    method: 'GET',
    path: '/graphql',
    summary: 'GraphQL: questions and subscriptions in the address; with an upgrade a WebSocket (graphql-ws)',
    query: z.strictObject({
      query: query.optional(),
      operationName: z.string().max(200).optional(),
      variables: z.string().max(MOST_QUERY).optional(),
      extensions: z.string().max(MOST_QUERY).optional(),
    }),
    responses,
  }),
};
