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
