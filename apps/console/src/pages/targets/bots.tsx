import type { Bot } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import type { Search } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Id } from '../../ui/id.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

const idOf = (bot: Bot) => bot.id;

const COLUMNS: readonly Column<Bot>[] = [
  { name: 'Bot', cell: (bot) => <Id>{bot.id}</Id> },
  {
    name: 'Status',
    narrow: 'second',
    width: '140px',
    cell: (bot) => <StateBadge state={bot.status === 'IDLE' ? 'pending' : 'claimed'} word={bot.status} />,
  },
  {
    name: 'Order',
    narrow: 'line',
    cell: (bot) =>
      bot.currentOrderId ? <Id>{bot.currentOrderId}</Id> : <span className="text-ink-3">none</span>,
  },
  { name: 'Since', width: '120px', align: 'right', cell: (bot) => <Time at={bot.updatedAt} /> },
];

export function Bots(_: { search: Search }) {
  const list = useLiveList({
    key: ['/api/bots'],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/bots', { query: { limit: 100, cursor }, signal });
      return { rows: page.bots, cursor: page.cursor };
    },
  });
  return (
    <Card flush>
      <LiveTable
        label="Bots"
        list={list}
        columns={COLUMNS}
        keyOf={idOf}
        empty={
          <Empty title="There are no bots yet." command='curl -X POST $MUSTER/api/bots -H "$AUTH"'>
            Bots process orders, one at a time each.
          </Empty>
        }
      />
    </Card>
  );
}
