import { useQuery } from '@tanstack/react-query';
import { useEffect, useReducer, useRef, useState } from 'react';

/**
 * A list by cursor that does not move under the pointer. Its first page is read again after a hint: rows that are shown
 * change in place, rows that no longer match stay and are dimmed, new ones wait behind "12 new".
 */
interface Read<Row> {
  readonly rows: readonly Row[];
  readonly cursor: string | null;
}

/** The most ids that one request may name. */
const MOST_GONE = 100;

export interface LiveList<Row> {
  readonly rows: readonly Row[];
  readonly isGone: (row: Row) => boolean;
  /** How many rows were added since the list was read. */
  readonly fresh: number;
  readonly showFresh: () => void;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
  /** When it was read, by the server's clock as the page knows it. */
  readonly readAt: number;
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly retry: () => void;
}

interface Kept<Row> {
  key: string;
  order: string[];
  byId: Map<string, Row>;
  gone: Set<string>;
  /** Of those, the settled ones: their outcome is shown and does not change. */
  settled: Set<string>;
  waiting: string[];
  cursor: string | null;
  readAt: number;
}

export function useLiveList<Row>(options: {
  readonly key: readonly unknown[];
  readonly read: (cursor: string | undefined, signal: AbortSignal | undefined) => Promise<Read<Row>>;
  readonly idOf: (row: Row) => string;
  readonly everyMs?: number;
  /** Rows that no longer match are read by id until they are settled: they stay in place and show their outcome. */
  readonly gone?: {
    readonly read: (ids: readonly string[]) => Promise<readonly Row[]>;
    readonly isSettled: (row: Row) => boolean;
  };
}): LiveList<Row> {
  const { read, idOf, everyMs = 1_000 } = options;
  const gone = useRef(options.gone);
  gone.current = options.gone;
  const key = JSON.stringify(options.key);
  const kept = useRef<Kept<Row>>(undefined);
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0);
  const [isLoadingMore, setLoadingMore] = useState(false);
  const [moreError, setMoreError] = useState<unknown>();

  const first = useQuery({
    queryKey: ['list', ...options.key],
    queryFn: ({ signal }) => read(undefined, signal),
    meta: { everyMs },
  });
  const { data } = first;

  if (kept.current?.key !== key && data) kept.current = begin(key, data, idOf);
  useEffect(() => {
    const list = kept.current;
    if (!list || !data || list.key !== key) return;
    merge(list, data, idOf);
    draw();
    const open = list.order.filter((id) => list.gone.has(id) && !list.settled.has(id)).slice(-MOST_GONE);
    if (open.length === 0 || !gone.current) return;
    const { read: readGone, isSettled } = gone.current;
    readGone(open).then((rows) => {
      for (const row of rows) {
        if (list.gone.has(idOf(row))) list.byId.set(idOf(row), row);
        if (isSettled(row)) list.settled.add(idOf(row));
      }
      draw();
    }, setMoreError);
  }, [data, key, idOf]);

  const list = kept.current?.key === key ? kept.current : undefined;
  return {
    rows: list ? list.order.flatMap((id) => list.byId.get(id) ?? []) : [],
    isGone: (row) => list?.gone.has(idOf(row)) ?? false,
    fresh: list?.waiting.length ?? 0,
    showFresh() {
      if (!data) return;
      kept.current = begin(key, data, idOf);
      draw();
    },
    hasMore: list?.cursor != null,
    isLoadingMore,
    loadMore() {
      if (!list?.cursor || isLoadingMore) return;
      setLoadingMore(true);
      setMoreError(undefined);
      read(list.cursor, undefined)
        .then((page) => {
          append(list, page, idOf);
        }, setMoreError)
        .finally(() => setLoadingMore(false));
    },
    readAt: list?.readAt ?? 0,
    isLoading: first.isPending,
    error: first.error ?? moreError,
    retry: () => void first.refetch(),
  };
}

function begin<Row>(key: string, page: Read<Row>, idOf: (row: Row) => string): Kept<Row> {
  const order = page.rows.map(idOf);
  return {
    key,
    order,
    byId: new Map(page.rows.map((row) => [idOf(row), row])),
    gone: new Set(),
    settled: new Set(),
    waiting: [],
    cursor: page.cursor,
    readAt: Date.now(),
  };
}

function merge<Row>(list: Kept<Row>, page: Read<Row>, idOf: (row: Row) => string) {
  const ids = new Set(page.rows.map(idOf));
  for (const row of page.rows) if (list.byId.has(idOf(row))) list.byId.set(idOf(row), row);
  // rows behind the last known one were on the next page and have moved up
  const all = page.rows.map(idOf);
  const known = all.findLastIndex((id) => list.byId.has(id));
  const end = list.cursor === null || known < 0 ? all.length : known;
  list.waiting = all.slice(0, end).filter((id) => !list.byId.has(id));
  // nothing is known about rows behind the last one of the page
  const last = page.cursor === null ? list.order.length : list.order.findLastIndex((id) => ids.has(id)) + 1;
  for (const id of list.order.slice(0, last)) {
    if (!ids.has(id)) list.gone.add(id);
    else if (list.gone.delete(id)) list.settled.delete(id);
  }
  // nothing is shown yet, so nothing can jump
  if (list.order.length === 0 && page.rows.length > 0) {
    list.order = page.rows.map(idOf);
    list.byId = new Map(page.rows.map((row) => [idOf(row), row]));
    list.waiting = [];
    list.cursor = page.cursor;
  }
}

function append<Row>(list: Kept<Row>, page: Read<Row>, idOf: (row: Row) => string) {
  for (const row of page.rows) {
    if (!list.byId.has(idOf(row))) list.order.push(idOf(row));
    list.byId.set(idOf(row), row);
  }
  list.cursor = page.cursor;
}
