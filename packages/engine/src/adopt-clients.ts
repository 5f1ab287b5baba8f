import { type Database, isTransaction, type Queryable } from './db.ts';
import type { Context } from './operation.ts';

/**
 * These calls are gathered on the engine's own database; they read the clock there, and wait there in bounded queues.
 */
const GATHERED = new Set([
  'acknowledge',
  'claim',
  'claimSlots',
  'enqueue',
  'ensureLane',
  'extend',
  'release',
  'report',
]);

/**
 * Operations accept a client of the caller's, which may have its own type parsers (64-bit numbers as numbers, times
 * as text). Each function of `api` gets such a client wrapped so that values are parsed the engine's way, and runs
 * only once the database's clock is known.
 */
export function adoptClients<Api extends object>(
  api: Api,
  db: Database,
  context: Pick<Context, 'ready'>,
): Api {
  const adopted = new WeakMap<object, Queryable>();

  function adopt(client: Queryable): Queryable {
    if (client === db || isTransaction(client)) return client;
    const known = adopted.get(client);
    if (known) return known;
    const own = db.adopt(client);
    adopted.set(client, own);
    return own;
  }

  const descriptors = Object.getOwnPropertyDescriptors(api) as Record<string, PropertyDescriptor>;
  for (const [name, descriptor] of Object.entries(descriptors)) {
    const { value } = descriptor;
    if (typeof value !== 'function') continue;
    descriptor.value = (first: unknown, ...rest: unknown[]) => {
      if (!isClient(first)) return value(first, ...rest);
      const client = adopt(first);
      const asked = client === db && GATHERED.has(name) ? undefined : context.ready(client);
      return asked === undefined ? value(client, ...rest) : asked.then(() => value(client, ...rest));
    };
  }
  return Object.defineProperties({}, descriptors) as Api;
}

function isClient(client: unknown): client is Queryable {
  return (
    typeof client === 'object' && client !== null && 'query' in client && typeof client.query === 'function'
  );
}
