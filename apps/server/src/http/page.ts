/** Lists come in pages; each continues after the last id of the page before. */
const PAGE = 100;

export interface Page<T> {
  readonly items: readonly T[];
  /** Null: nothing is left. */
  readonly cursor: string | null;
}

/** Reads one more than requested, only to see whether there is another page. */
export async function readPage<T>(
  limit: number | undefined,
  read: (limit: number) => Promise<readonly T[]>,
  idOf: (last: T) => string,
): Promise<Page<T>> {
  const most = limitOf(limit);
  const found = await read(most + 1);
  const items = found.slice(0, most);
  const last = items.at(-1);
  return { items, cursor: last !== undefined && found.length > most ? idOf(last) : null };
}

export function limitOf(limit: number | undefined): number {
  return limit ?? PAGE;
}
