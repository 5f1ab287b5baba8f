import type { Query, QueryClient } from '@tanstack/react-query';
import { Refused } from '../api/refused.ts';

/**
 * Reads the shown data again after a hint: each query at most as often as it allows, never while its last answer is on the way.
 * A hint that comes too early is remembered. A refused query is not repeated: it would be refused again until a person does
 * something.
 */
const TICK_MS = 250;
const EVERY_MS = 500;

const isRefused = (error: unknown) => error instanceof Refused && error.isFinal;

export function createRefresher(queries: QueryClient) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const due = new Set<string>();

  function look() {
    timer = undefined;
    for (const query of active()) {
      if (!due.has(query.queryHash)) continue;
      const everyMs = (query.meta?.everyMs as number | undefined) ?? EVERY_MS;
      const { dataUpdatedAt, errorUpdatedAt, fetchStatus } = query.state;
      if (fetchStatus !== 'idle' || Date.now() - Math.max(dataUpdatedAt, errorUpdatedAt) < everyMs) continue;
      due.delete(query.queryHash);
      void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
    }
    const left = active().some((query) => due.has(query.queryHash));
    if (left) timer = setTimeout(look, TICK_MS);
    else due.clear();
  }
  function active(): Query[] {
    return queries
      .getQueryCache()
      .findAll({ type: 'active' })
      .filter((query) => query.meta?.everyMs !== undefined && !isRefused(query.state.error));
  }
  return {
    hint() {
      for (const query of active()) due.add(query.queryHash);
      timer ??= setTimeout(look, TICK_MS);
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
      due.clear();
    },
  };
}
