import { expect, test } from 'vitest';
import { z } from 'zod';
import { api, type Endpoint } from '../src/index.ts';

const endpoints: [string, Endpoint][] = Object.entries(api).flatMap(([door, calls]) =>
  Object.entries(calls).map(([name, one]): [string, Endpoint] => [`${door}.${name}`, one]),
);

function schemasOf({ params, query, body, responses }: Endpoint): z.ZodType[] {
  const answers = Object.values(responses).map(({ schema }) => schema);
  return [params, query, body, ...answers].filter((schema) => schema !== undefined);
}

test('a method and a path belong to one endpoint', () => {
  const used = endpoints.map(([, { method, path }]) => `${method} ${path}`);
  expect(used.length).toBeGreaterThan(30);
  expect([...new Set(used)].length).toBe(used.length);
});

test.each(endpoints)('%s names each part of its path in its parameters', (_name, { params, path }) => {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, part]) => part);
  const { properties = {} } = params ? z.toJSONSchema(params) : {};
  expect(Object.keys(properties).sort()).toEqual(inPath.sort());
});

/** A default behind an optional only shows in itself. */
function isAsItCame(schema: z.ZodType): boolean {
  try {
    const [input, output] = [
      z.toJSONSchema(schema, { io: 'input' }),
      z.toJSONSchema(schema, { io: 'output' }),
    ];
    return (
      JSON.stringify(input) === JSON.stringify(output) && !/"default":(?!\{)/.test(JSON.stringify(input))
    );
  } catch {
    return false; // a transform has no schema of its output
  }
}

test.each(endpoints)('%s has no transform and no default: values pass unchanged', (_name, one) => {
  for (const schema of schemasOf(one)) expect(isAsItCame(schema)).toBe(true);
});

test('a default or a transform is found, wherever it hides', () => {
  for (const n of [
    z.int().default(1),
    z.int().default(1).optional(),
    z.string().transform(Number),
    z.string().transform(Number).optional(),
  ])
    expect(isAsItCame(z.strictObject({ n }))).toBe(false);
});

/** Requests that an operator or a worker may repeat without queueing twice, and why. All other requests take a key. */
const QUEUES_NOTHING_NEW: Readonly<Record<string, readonly string[]>> = {
  'has the key in its document': ['pipeline.graphql'],
  'makes no action': [
    'devices.create',
    'devices.enrol',
    'devices.import',
    'devices.clearError',
    'devices.pause',
    'devices.resume',
    'devices.reEnrol',
    'devices.rotateToken',
    'hosts.create',
    'hosts.enrol',
    'hosts.rotateToken',
    'mdm.enrol',
    'mdm.scepPost',
    'pcs.create',
    'pcs.rotateToken',
    'services.create',
    'callbacks.rotateKeys',
    'session.create',
    'bots.create',
    'bots.rotateToken',
    'webhooks.create',
    'webhooks.ping',
    'webhooks.rotateSecret',
    'tenants.create',
    'tenants.createToken',
    'tokens.create',
    'tokens.rotate',
    'workflows.create',
  ],
  'changes nothing': ['actions.count', 'actions.reveal', 'devices.count'],
  'changes existing things, and finds them changed the second time': [
    'actions.cancel',
    'actions.cancelMatching',
    'actions.makeDue',
    'actions.makeDueMatching',
    'actions.moveToFront',
    'actions.pause',
    'actions.pauseLane',
    'actions.redrive',
    'actions.redriveMatching',
    'actions.resume',
    'actions.resumeLane',
    'batches.cancel',
    'batches.pause',
    'batches.resume',
    'batches.retry',
    'callbacks.retry',
    'hostActions.cancel',
    'mdm.pushNow',
    'orders.clear',
    'orders.complete',
    'tasks.cancel',
    'webhooks.pause',
    'webhooks.resume',
    'workflows.cancelRun',
  ],
  'sends messages again that the receiver knows by their ids': ['webhooks.replay', 'webhooks.replayOne'],
  'has a deduplication id, as QStash has': ['callbacks.batch', 'callbacks.publish'],
  'takes work or reports it; the attempt is the fence': [
    'actions.claim',
    'actions.extend',
    'actions.release',
    'actions.report',
    'bots.claim',
    'checkin.checkIn',
    'control.heartbeat',
    'control.report',
    'runners.acknowledge',
    'runners.claim',
    'runners.complete',
    'runners.fail',
    'runners.heartbeat',
    'runners.watch',
  ],
};

test('every endpoint that queues something takes an Idempotency-Key', () => {
  const without = endpoints.flatMap(([name, { headers = {}, method }]) =>
    method === 'POST' && !('Idempotency-Key' in headers) ? [name] : [],
  );
  expect(without.sort()).toEqual(Object.values(QUEUES_NOTHING_NEW).flat().sort());
});
