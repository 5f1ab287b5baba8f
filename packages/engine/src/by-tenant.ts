/** Lists for statements that may be of one tenant only (the database is distributed): those of each tenant together; else all of them. */
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
