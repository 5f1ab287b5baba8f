import { createClient as overWebSocket } from 'graphql-ws';
import { afterAll, beforeAll, expect, test } from 'vitest';
import WebSocket from 'ws';
import { type PipelineStage, pipelineStage } from '../testing/pipeline-stage.ts';

let s: PipelineStage;
beforeAll(async () => {
  s = await pipelineStage();
});
afterAll(() => s.t.close());

const times = (n: number, open: string, inner: string, close: string) =>
  open.repeat(n) + inner + close.repeat(n);
const DOCUMENTS = {
  lists: `{devices(search:${times(9_000, '[', '', ']')}){cursor}}`,
  objects: `{devices(search:${times(3_000, '{a:', '1', '}')}){cursor}}`,
  fields: times(6_000, '{a', '', '}'),
  'inline fragments': times(3_000, '{...', '{id}', '}'),
  types: `query($a:${times(9_000, '[', 'ID', ']')}){device(id:$a){id}}`,
  'a subscription': `subscription{deviceStateChanged(deviceId:${times(9_000, '[', '', ']')}){policy}}`,
};

test.each(Object.entries(DOCUMENTS))(
  '#12: a document that nests %s too deeply is refused with a code, over HTTP, as a stream and on a WebSocket',
  async (_, query) => {
    const refused = { errors: [{ extensions: { code: 'QUERY_TOO_COSTLY' } }] };
    const posted = await s.t.post('/graphql', { query });
    expect([posted.status, posted.body]).toMatchObject([400, refused]);
    const streamed = await s.t.post('/graphql', { query }, { headers: { accept: 'text/event-stream' } });
    expect([streamed.status, streamed.body]).toMatchObject([400, refused]);
    const client = overWebSocket({
      ...{ url: `${s.t.server.url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket },
      connectionParams: { authorization: `Bearer ${s.t.operator}` },
    });
    const error = await new Promise((resolve) => {
      client.subscribe({ query }, { next: resolve, error: resolve, complete: () => resolve('complete') });
    });
    expect(error).toMatchObject(refused.errors);
    await client.dispose();
    expect(s.t.log()).not.toContain('RangeError');
  },
);

test('#12: brackets in strings and comments do not count, and introspection is not too deep', async () => {
  const many = '['.repeat(200);
  const query = `# ${many}\n{devices(search: "${many}"){cursor} other: devices(search: """${many}"""){cursor}}`;
  expect((await s.t.post('/graphql', { query })).body).toEqual({
    data: { devices: { cursor: null }, other: { cursor: null } },
  });
  const { getIntrospectionQuery } = await import('graphql');
  const { body } = await s.t.post('/graphql', { query: getIntrospectionQuery() });
  expect(body.errors).toBeUndefined();
});

test('#12: values of any depth are refused with a code', async () => {
  const query = 'query ($ids: ID!) { device(id: $ids) { id } }';
  for (const depth of [20, 1_000, 100_000]) {
    const body = `{"query": ${JSON.stringify(query)}, "variables": {"ids": ${times(depth, '[', '', ']')}}}`;
    const answer = await s.t.post('/graphql', body);
    expect(answer.status).toBeLessThan(500);
    expect(JSON.stringify(answer.body)).toMatch(/"code":"\w+"/);
  }
});

test('#12: variables of the wrong type are refused with a code', async () => {
  const query = 'query ($id: ID!) { device(id: $id) { id } }';
  for (const variables of [{}, { id: null }, { id: [[1]] }, { id: {} }])
    expect(await s.codesOf(query, variables)).toEqual(['BAD_USER_INPUT']);
});
