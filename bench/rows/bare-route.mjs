// HTTP's own limit: a Fastify route that reads a report of the usual size and answers with an action of the usual size.

import { underLoad } from '../load.mjs';
import { payload } from '../measure.mjs';

const answer = {
  accepted: true,
  state: 'succeeded',
  reason: null,
  repeated: false,
  next: {
    id: '123456',
    laneId: '12345',
    channel: 'any',
    kind: 'bench',
    payload,
    tags: [],
    priority: 'normal',
    attempt: 1,
    maxAttempts: 3,
    worker: 'worker 12345',
    leasedAt: new Date(0),
    leaseUntil: new Date(0),
    createdAt: new Date(0),
    createdBy: null,
    redelivered: false,
    cancelRequested: false,
  },
};

export default [
  {
    name: 'bare-route',
    title: 'a bare Fastify route',
    unit: 'requests/s',
    uses: [],
    versionOf: 'fastify',
    settings:
      'POST with a JSON body of 120 bytes, answered with a JSON body of 600 bytes; no database; load from a process of its own, pipelining 1',
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
          body: '{"attempt":1,"status":"succeeded","worker":"worker 12345","next":{"worker":"worker 12345","leaseMs":86400000}}',
        },
      });
      await server.close();
      return { ...result, connections: sizes.connections };
    },
  },
];
