// HTTP's own limit: a Fastify route that reads a report of the usual size and answers with an action of the usual size.

import { underLoad } from '../load.mjs';
import { payload } from '../measure.mjs';

const answer = {
  accepted: true,
  status: 'succeeded',
  actions: [
    {
      id: '123456',
      kind: 'bench',
      payload,
      attempt: 1,
      maxAttempts: 3,
      priority: 'normal',
      tags: [],
      leaseUntil: new Date(0),
    },
  ],
};

export default [
  {
    name: 'bare-route',
    title: 'a bare Fastify route',
    unit: 'requests/s',
    uses: [],
    versionOf: 'fastify',
    settings:
      'POST with a JSON body of 120 bytes, answered with a JSON body of 400 bytes; no database; load from a process of its own, pipelining 1',
    async measure({ sizes }) {
      const { default: fastify } = await import('fastify');
      const server = fastify();
      server.post('/api/actions/:id/report', async () => answer);
      await server.listen({ host: '127.0.0.1', port: 0 });
      const address = server.server.address();
      const result = await underLoad({
        ...sizes,
        port: typeof address === 'object' && address ? address.port : 0,
        headers: { authorization: 'Bearer bench' },
        same: {
          method: 'POST',
          path: '/api/actions/123456/report',
          body: '{"attempt":1,"status":"succeeded","worker":"worker 12345","next":{"worker":"worker 12345","leaseSeconds":86400}}',
        },
      });
      await server.close();
      return { ...result, connections: sizes.connections };
    },
  },
];
