import { useCallback, useEffect, useRef, useState } from 'react';

/** The selected rows. Pages and live data keep the selection, another filter ends it; shift selects a range. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly all: boolean;
  readonly toggle: (id: string, isRange: boolean, order: readonly string[]) => void;
  readonly takeAll: () => void;
  readonly clear: () => void;
}

export function useSelection(filterKey: string): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  const last = useRef<string>(undefined);
  const clear = useCallback(() => {
    setIds(new Set());
    setAll(false);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(clear, [filterKey]);
  return {
    ids,
    all,
    clear,
    takeAll: () => setAll(true),
    toggle(id, isRange, order) {
      const next = new Set(ids);
      const from = last.current === undefined ? -1 : order.indexOf(last.current);
      const to = order.indexOf(id);
      const range = isRange && from >= 0 ? order.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
      for (const one of range) ids.has(id) ? next.delete(one) : next.add(one);
      last.current = id;
      setAll(false);
      setIds(next);
    },
  };
}
