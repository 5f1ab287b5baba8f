import type { Device } from '@muster/contracts';
import { TriangleAlert } from 'lucide-react';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { useSeenValues } from '../../api/use-seen-values.ts';
import type { Search } from '../../page-address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { Id } from '../../ui/id.tsx';
import { LeaseCountdown } from '../../ui/lease-countdown.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Presence } from '../../ui/presence.tsx';
import type { Column } from '../../ui/table.tsx';
import { nameOf } from '../../words/action-name.ts';
import { count } from '../../words/numbers.ts';
import { useFilter } from './use-filter.ts';

const KEYS = { text: [], tag: [], state: ['ok', 'error'], online: ['true', 'false'], pcId: [] } as const;
const idOf = (device: Device) => device.id;
const valuesOf = ({ pcId, tags }: Device) => ({ tag: tags, pcId: [pcId] });

const COLUMNS: readonly Column<Device>[] = [
  {
    name: 'Device',
    width: '26%',
    cell: (device) => (
      <TextLink to="/devices/$id" params={{ id: device.id }} className="font-medium wrap-anywhere">
        {device.name} {device.externalId && <Id>{device.externalId}</Id>}
      </TextLink>
    ),
  },
  {
    name: 'Presence',
    width: '150px',
    cell: (device) => <Presence online={device.online} lastSeenAt={device.lastSeenAt} />,
  },
  {
    name: 'Waiting',
    width: '84px',
    align: 'right',
    cell: (device) => (
      <span className={device.queueDepth > 0 ? '' : 'text-ink-3'}>
        {device.queueDepth >= 1_000 ? 'over 1 000' : count(device.queueDepth)}
      </span>
    ),
  },
  {
    name: 'Now',
    narrow: 'line',
    cell: (device) =>
      device.state === 'error' ? (
        <span className="inline-flex flex-wrap items-center gap-2">
          <Badge icon={TriangleAlert} tone="red" word="in error" />
          <span className="wrap-anywhere text-ink-2">{device.stateReason}</span>
        </span>
      ) : device.current ? (
        <span className="inline-flex flex-wrap items-center gap-2">
          <TextLink to="/actions/$id" params={{ id: device.current.id }}>
            {nameOf(device.current)} {device.current.id}
          </TextLink>
          <LeaseCountdown from={device.current.sentAt} until={device.current.leaseUntil} />
        </span>
      ) : (
        device.absent && <span className="text-ink-3">its PC does not see it</span>
      ),
  },
  {
    name: 'Tags',
    width: '18%',
    narrow: 'none',
    cell: (device) => (
      <span title={device.tags.join(', ')} className="block max-w-[200px] truncate text-label text-ink-3">
        {device.tags.join(', ')}
      </span>
    ),
  },
];

export function Devices({ search }: { search: Search }) {
  const { bar, filter, isSet } = useFilter('devices', KEYS, search);
  const list = useLiveList({
    key: ['/api/devices', filter],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/devices', {
        query: { ...filter, limit: 100, cursor } as never,
        signal,
      });
      return { rows: page.devices, cursor: page.cursor };
    },
  });
  const seen = useSeenValues(list.rows, valuesOf);
  return (
    <FilterBar {...bar} plain="text" seen={seen}>
      <Card flush>
        <LiveTable
          label="Devices"
          list={list}
          columns={COLUMNS}
          keyOf={idOf}
          empty={
            <Empty
              title={isSet ? 'No device matches.' : 'There are no devices yet.'}
              command={`curl -X POST $MUSTER/api/devices -H "$OPERATOR" -H "$JSON" -d '{"name": "Tablet 1"}'`}
            >
              A device is registered by an operator, or registers itself with an enrolment token.
            </Empty>
          }
        />
      </Card>
    </FilterBar>
  );
}
