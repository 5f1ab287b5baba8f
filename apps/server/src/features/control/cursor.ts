import { httpError } from '../../http/errors.ts';
import { isId } from './queries.ts';

/** Lists of hosts go on behind the last id of the page before. */
export const PAGE = 100;

export function readCursor(cursor: string | undefined): string {
  if (cursor === undefined) return '0';
  if (!isId(cursor)) throw httpError('MUSTER_BAD_QUERY', 'This is not a cursor of this list.');
  return cursor;
}

/** One more than asked for was read: it only tells that there is a further page. */
export function pageOf<T extends { readonly id: string }>(found: readonly T[], limit: number) {
  const items = found.slice(0, limit);
  return { items, cursor: found.length > limit ? (items.at(-1)?.id ?? null) : null };
}
