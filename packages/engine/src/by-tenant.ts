import type { Query, Queryable } from './db.ts';

/**
 * Splits lists by tenant if the database is distributed, where a statement may cover only one tenant; otherwise keeps
 * one list.
 */
export function byTenant<T extends { readonly tenantId: number }>(
  { isDistributed }: { readonly isDistributed: boolean },
  all: readonly T[],
): (readonly T[])[] {
  if (!isDistributed) return [all];
  const lists = new Map<number, T[]>();
  for (const one of all) {
    const list = lists.get(one.tenantId);
    if (list) list.push(one);
    else lists.set(one.tenantId, [one]);
  }
  return [...lists.values()];
}

/** The client for statements of this tenant, if the database is distributed. */
export const ofOne = <Client extends Queryable>(
  { isDistributed }: { readonly isDistributed: boolean },
  client: Client,
  tenantId: number,
): Client => (isDistributed ? ofTenant(client, tenantId) : client);

/** The same client, for statements of this tenant. */
export function ofTenant<Client extends Queryable>(client: Client, tenantId: number): Client {
  return { ...client, query: (query: Query) => client.query({ ...query, tenantId }) };
}
