import type { Action } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { address } from '../../page-address.ts';
import { useMay } from '../../session/session.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { count } from '../../words/numbers.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ACTION_COLUMNS } from './columns.tsx';
import { ACTION_FILTERS, filterOf, isLookedFor } from './filters.ts';
import { type Selection, useSelection } from './use-selection.ts';

const idOf = (action: Action) => action.id;
const STATES = [
  undefined,
  'unfinished',
  'pending',
  'claimed',
  'succeeded',
  'failed',
  'cancelled',
  'expired',
] as const;
const words = (state: (typeof STATES)[number]) =>
  state === undefined ? 'all' : state === 'claimed' ? 'running' : state;

/** Find it; do the same to many. */
export function ActionsPage() {
  const search = address.useSearch();
  const navigate = useNavigate();
  const filter = useMemo(() => filterOf(search), [search]);
  const key = JSON.stringify(filter);
  const [looked, setLooked] = useState<number>();
  const list = useLiveList({
    key: ['/api/actions', filter],
    idOf,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/actions', {
        query: { ...filter, limit: 100, cursor } as never,
        signal,
      });
      setLooked(page.looked);
      return { rows: page.actions, cursor: page.cursor };
    },
  });
  const selection = useSelection(key);
  const may = useMay('operator');
  const columns = may ? [pick(selection, list.rows.map(idOf)), ...ACTION_COLUMNS] : ACTION_COLUMNS;
  return (
    <Page title="Actions" name="Actions">
      <FilterBar
        keys={ACTION_FILTERS}
        value={filter}
        plain="text"
        onChange={(value) => void navigate({ to: '/actions', search: value })}
      />
      <Tabs
        label="States"
        tabs={STATES.map((state) => ({
          word: words(state),
          search: { ...filter, state },
          isOpen: filter.state === state,
        }))}
      />
      {isLookedFor(filter) && looked !== undefined && (
        <p className="text-table text-ink-2">
          Looked for among the newest {count(looked)} that match the other filters; “Load 100 more” looks
          further.
        </p>
      )}
      <Card flush>
        <LiveTable
          label="Actions"
          list={list}
          columns={columns}
          keyOf={idOf}
          empty={
            <Empty
              title="No action matches."
              command={`npx muster action list${filter.state ? ` --state ${filter.state}` : ''}`}
            >
              Actions are queued for a device, a service or a lane; whatever was queued is here until it is
              pruned.
            </Empty>
          }
        />
        {may && <BulkBar selection={selection} rows={list.rows} filter={filter} readAt={list.readAt} />}
      </Card>
    </Page>
  );
}

function pick(selection: Selection, order: readonly string[]): Column<Action> {
  return {
    name: '-Select',
    width: '36px',
    cell: (action) => (
      <input
        type="checkbox"
        aria-label={`Select ${action.kind} ${action.id}`}
        className="block size-4 accent-ink"
        checked={selection.all || selection.ids.has(action.id)}
        onClick={(event) => selection.toggle(action.id, event.shiftKey, order)}
        onChange={() => {}}
      />
    ),
  };
}
