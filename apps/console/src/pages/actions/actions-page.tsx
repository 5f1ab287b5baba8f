import type { Action } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { useSeenValues } from '../../api/use-seen-values.ts';
import { address } from '../../page-address.ts';
import { useMay } from '../../session/session.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { CheckBox } from '../../ui/field.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { nameOf } from '../../words/action-name.ts';
import { serverNow } from '../../words/clock.ts';
import { count } from '../../words/numbers.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ACTION_COLUMNS } from './columns.tsx';
import {
  ACTION_FILTERS,
  asked,
  asSaid,
  filterOf,
  isLookedFor,
  isTextAlone,
  isWithoutInternal,
} from './filters.ts';
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

const valuesOf = ({ channel, createdBy, kind, lane, space, tags }: Action) => ({
  kind: [kind],
  tag: tags,
  source: [createdBy],
  channel: [channel],
  lane: [lane],
  space: [space],
});

/** A search ends after this many actions, whatever it has found. */
const MOST_LOOKED_AT = 10_000;

/** Finds actions, and changes many at once. */
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
        query: { ...asked(filter, serverNow()), limit: 100, cursor } as never,
        signal,
      });
      setLooked(page.looked);
      return { rows: page.actions, cursor: page.cursor };
    },
    gone: {
      read: async (ids) =>
        (await ask('GET', '/api/actions', { query: { ids: [...ids], limit: 100 } })).actions,
      isSettled: ({ state }) => state !== 'pending' && state !== 'claimed',
    },
  });
  // how many were searched is shown only if the page is not full because of it
  const says = looked !== undefined && (isLookedFor(filter) || looked >= MOST_LOOKED_AT);
  const seen = useSeenValues(list.rows, valuesOf);
  const selection = useSelection(key);
  const may = useMay('operator');
  const columns = may ? [pick(selection, list.rows.map(idOf)), ...ACTION_COLUMNS] : ACTION_COLUMNS;
  return (
    <Page title="Actions" name="Actions">
      <FilterBar
        keys={ACTION_FILTERS}
        value={asSaid(filter)}
        plain="text"
        seen={seen}
        onChange={(value) => void navigate({ to: '/actions', search: value })}
      >
        <Tabs
          label="States"
          tabs={STATES.map((state) => ({
            word: words(state),
            search: { ...filter, state },
            isOpen: filter.state === state,
          }))}
        />
        {(isWithoutInternal(filter) || filter.internal) && (
          <CheckBox
            label="Also the server's own"
            hint="Messages between its parts, callbacks, webhook deliveries."
            checked={filter.internal === 'true'}
            onChange={({ target }) =>
              void navigate({
                to: '/actions',
                search: { ...filter, internal: target.checked ? 'true' : undefined },
              })
            }
          />
        )}
        {says && (
          <p className="text-table text-ink-2">
            Searched the newest {count(looked)}
            {isTextAlone(filter) ? ' of the last 24 hours' : ' that match the other filters'}
            {list.hasMore && '; “Load 100 more” searches further'}.
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
                Actions are queued for a device, a service or a lane. Finished ones are listed until they are
                deleted.
              </Empty>
            }
          />
          {may && <BulkBar selection={selection} rows={list.rows} filter={filter} readAt={list.readAt} />}
        </Card>
      </FilterBar>
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
        aria-label={`Select ${nameOf(action)} ${action.id}`}
        className="block size-4 accent-ink"
        checked={selection.all || selection.ids.has(action.id)}
        onClick={(event) => selection.toggle(action.id, event.shiftKey, order)}
        onChange={() => {}}
      />
    ),
  };
}
