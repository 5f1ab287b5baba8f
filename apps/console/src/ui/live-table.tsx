import type { ReactNode } from 'react';
import type { LiveList } from '../api/use-live-list.ts';
import { count } from '../words/numbers.ts';
import { Button } from './button.tsx';
import { Failure } from './failure.tsx';
import { SkeletonRows } from './skeleton.tsx';
import { type Column, Table } from './table.tsx';

/** A live list that does not jump: rows change in place, "12 new" on top, "Load 100 more" below. */
export function LiveTable<Row>(props: {
  label: string;
  list: LiveList<Row>;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  empty: ReactNode;
}) {
  const { list } = props;
  if (list.isLoading) return <SkeletonRows rows={12} />;
  return (
    <div className="relative">
      {list.error != null && (
        <div className="p-4">
          <Failure error={list.error} retry={list.retry} />
        </div>
      )}
      {list.fresh > 0 && (
        <button
          type="button"
          onClick={list.showFresh}
          // across the upper edge: what is being read, column heads included, is neither moved nor covered
          className="absolute -top-4 left-1/2 z-10 h-6 -translate-x-1/2 rounded-control border border-control bg-surface px-3 text-table font-medium hover:underline pointer-coarse:h-touch"
        >
          {count(list.fresh)} new: show {list.fresh === 1 ? 'it' : 'them'}
        </button>
      )}
      {list.rows.length === 0 && list.error == null ? (
        props.empty
      ) : (
        <Table
          label={props.label}
          rows={list.rows}
          columns={props.columns}
          keyOf={props.keyOf}
          dimmed={list.isGone}
        />
      )}
      {list.hasMore && (
        <div className="flex justify-center border-t p-2">
          <Button onClick={list.loadMore} disabled={list.isLoadingMore}>
            Load 100 more
          </Button>
        </div>
      )}
    </div>
  );
}
