/** Lists of hosts go on behind the last id of the page before. */
export const PAGE = 100;

/** One more than asked for was read: it only tells that there is a further page. */
export function pageOf<T extends { readonly id: string }>(found: readonly T[], limit: number) {
  const items = found.slice(0, limit);
  return { items, cursor: found.length > limit ? (items.at(-1)?.id ?? null) : null };
}
