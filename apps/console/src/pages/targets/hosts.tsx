import type { HostLoad } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import type { Search } from '../../page-address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Presence } from '../../ui/presence.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { count } from '../../words/numbers.ts';
import { useFilter } from './use-filter.ts';

const KEYS = { text: [], online: ['true', 'false'] } as const;
const idOf = (host: HostLoad) => host.id;

const COLUMNS: readonly Column<HostLoad>[] = [
  {
    name: 'Host',
    width: '28%',
    cell: (host) => (
      <TextLink to="/hosts/$id" params={{ id: host.id }} className="font-medium">
        {host.name}
      </TextLink>
    ),
  },
  {
    name: 'Presence',
    width: '150px',
    cell: (host) => <Presence online={host.online} lastSeenAt={host.lastSeenAt} />,
  },
  {
    name: 'Pending',
    width: '84px',
    align: 'right',
    narrow: 'second',
    cell: (host) => (
      <>
        {count(host.queued)}
        <span className="md:hidden"> pending</span>
      </>
    ),
  },
  {
    name: 'Running',
    width: '84px',
    align: 'right',
    narrow: 'second',
    cell: (host) => (
      <>
        {count(host.running)}
        <span className="md:hidden"> running</span>
      </>
    ),
  },
  {
    name: 'Oldest pending',
    width: '120px',
    narrow: 'none',
    cell: (host) =>
      host.oldestQueuedAt ? <Time at={host.oldestQueuedAt} /> : <span className="text-ink-3">none</span>,
  },
  {
    name: 'Stuck',
    narrow: 'line',
    cell: (host) =>
      host.stuck.length > 0 ? <Badge tone="amber" word={`${host.stuck.length} stuck`} /> : null,
  },
];

export function Hosts({ search }: { search: Search }) {
  const { bar, filter, isSet } = useFilter('hosts', KEYS, search);
  const list = useLiveList({
    key: ['/api/hosts/load', filter],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/hosts/load', {
        query: { ...filter, limit: 100, cursor } as never,
        signal,
      });
      return { rows: page.hosts, cursor: page.cursor };
    },
  });
  return (
    <FilterBar {...bar} plain="text">
      <Card flush>
        <LiveTable
          label="Hosts"
          list={list}
          columns={COLUMNS}
          keyOf={idOf}
          empty={
            <Empty
              title={isSet ? 'No host matches.' : 'There are no hosts yet.'}
              command={`curl -X POST $MUSTER/api/hosts -H "$OPERATOR" -H "$JSON" -d '{"name": "web-1"}'`}
            >
              A host runs an agent that starts, stops and restarts its services.
            </Empty>
          }
        />
      </Card>
    </FilterBar>
  );
}
