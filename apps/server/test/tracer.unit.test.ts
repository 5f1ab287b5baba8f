import { expect, test } from 'vitest';
import { freePort } from '../../../testing/free-port.mjs';
import { openTracer, plainly } from '../src/tracing/tracer.ts';

test('a collector that is down is one plain sentence, without a stack', async () => {
  const port = await freePort();
  const said: string[] = [];
  const tracer = openTracer(
    { url: `http://127.0.0.1:${port}/v1/traces`, headers: {}, share: 1 },
    { service: 'muster', version: '0', instance: 'test' },
    (sentence) => void said.push(sentence),
  );
  tracer.add({
    name: 'enqueue',
    kind: 'internal',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    from: 1,
    to: 2,
    attributes: {},
  });
  await tracer.close();
  expect(said).toEqual([`connect ECONNREFUSED 127.0.0.1:${port}`]);
});

test('whatever the exporter hands over becomes part of a sentence', () => {
  const flat = (error: object) => JSON.stringify(error);
  expect(plainly([flat({ stack: 'Error: x\n    at y', name: 'Error', message: 'no\nroute.' })])).toBe(
    'no route',
  );
  expect(plainly([flat({ stack: 'AggregateError', code: 'ECONNREFUSED' })])).toBe('ECONNREFUSED');
  expect(plainly([new Error('Bad Gateway')])).toBe('Bad Gateway');
  expect(plainly([new AggregateError([new Error('first'), new Error('second')])])).toBe('first');
  expect(plainly(['Partial success:', '{"rejectedSpans":3}'])).toBe('Partial success: {"rejectedSpans":3}');
  expect(plainly(['null', undefined])).toBe('null undefined');
});
