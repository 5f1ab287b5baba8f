import type { Pc } from '@muster/contracts';
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
import { count } from '../../words/numbers.ts';
import { useFilter } from './use-filter.ts';

const KEYS = { text: [], online: ['true', 'false'] } as const;
const idOf = (pc: Pc) => pc.id;

const COLUMNS: readonly Column<Pc>[] = [
  {
    name: 'PC',
    width: '28%',
    cell: (pc) => (
      <TextLink to="/tasks" search={{ pc: pc.id }} className="font-medium">
        {pc.name}
      </TextLink>
    ),
  },
  {
    name: 'Runner',
    width: '150px',
    cell: (pc) => <Presence online={pc.online} lastSeenAt={pc.lastSeenAt} />,
  },
  {
    name: 'Slots',
    width: '110px',
    align: 'right',
    cell: (pc) => `${count(pc.runningCount)} of ${count(pc.slots)}`,
  },
  {
    name: 'Devices',
    width: '110px',
    align: 'right',
    cell: (pc) => (
      <TextLink to="/targets" search={{ type: 'devices', pcId: pc.id }}>
        {count(pc.deviceCount)}
        <span className="md:hidden"> devices</span>
      </TextLink>
    ),
  },
  {
    name: 'Not ready',
    narrow: 'line',
    cell: (pc) =>
      pc.errorDeviceCount + pc.absentDeviceCount === 0 ? null : (
        <span className="inline-flex flex-wrap gap-2">
          {pc.errorDeviceCount > 0 && <Badge tone="red" word={`${pc.errorDeviceCount} in error`} />}
          {pc.absentDeviceCount > 0 && <Badge tone="slate" word={`${pc.absentDeviceCount} absent`} />}
        </span>
      ),
  },
];

export function Pcs({ search }: { search: Search }) {
  const { bar, filter, isSet } = useFilter('pcs', KEYS, search);
  const list = useLiveList({
    key: ['/api/pcs', filter],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/pcs', {
        query: { ...filter, limit: 100, cursor } as never,
        signal,
      });
      return { rows: page.pcs, cursor: page.cursor };
    },
  });
  return (
    <FilterBar {...bar} plain="text">
      <Card flush>
        <LiveTable
          label="PCs"
          list={list}
          columns={COLUMNS}
          keyOf={idOf}
          empty={
            <Empty
              title={isSet ? 'No PC matches.' : 'There are no PCs yet.'}
              command={`curl -X POST $MUSTER/api/pcs -H "$OPERATOR" -H "$JSON" -d '{"name": "rack-1"}'`}
            >
              A PC runs tasks on the devices attached to it.
            </Empty>
          }
        />
      </Card>
    </FilterBar>
  );
}
