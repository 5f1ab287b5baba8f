import { type Database, isTransaction, type Queryable } from './db.ts';

/**
 * The engine's operations take a client of the caller's own, who may have set parsers for his program (64-bit numbers as
 * numbers, times as text). Every function of `api` gets such a client wrapped, so that it reads values as the engine does.
 */
export function adoptClients<Api extends object>(api: Api, db: Database): Api {
  const adopted = new WeakMap<object, Queryable>();

  function adopt(client: unknown): unknown {
    if (client === db || !isForeign(client)) return client;
    const known = adopted.get(client);
    if (known) return known;
    const own = db.adopt(client);
    adopted.set(client, own);
    return own;
  }

  const descriptors = Object.getOwnPropertyDescriptors(api) as Record<string, PropertyDescriptor>;
  for (const descriptor of Object.values(descriptors)) {
    const { value } = descriptor;
    if (typeof value === 'function')
      descriptor.value = (first: unknown, ...rest: unknown[]) => value(adopt(first), ...rest);
  }
  return Object.defineProperties({}, descriptors) as Api;
}

function isForeign(client: unknown): client is Queryable {
  return (
    typeof client === 'object' &&
    client !== null &&
    'query' in client &&
    typeof client.query === 'function' &&
    !isTransaction(client as Queryable)
  );
}
