import type { Bot } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import type { Search } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { OrderProgress } from '../../ui/order-progress.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { botName } from '../../words/bot-name.ts';
import { useFilter } from './use-filter.ts';

const KEYS = { status: ['IDLE', 'PROCESSING'], deleted: ['true', 'false'] } as const;
const idOf = (bot: Bot) => bot.id;

const COLUMNS: readonly Column<Bot>[] = [
  {
    name: 'Bot',
    width: '18%',
    cell: (bot) => (
      <span title={bot.id} className="font-medium">
        {botName(bot)}
      </span>
    ),
  },
  {
    name: 'Status',
    width: '150px',
    cell: (bot) => <StateBadge state={bot.status === 'IDLE' ? 'pending' : 'claimed'} word={bot.status} />,
  },
  {
    name: 'Order',
    narrow: 'line',
    cell: (bot) =>
      bot.currentOrderNumber === null ? (
        <span className="text-ink-3">none</span>
      ) : (
        <span className="inline-flex flex-wrap items-center gap-3">
          <TextLink to="/orders" search={{ column: 'PROCESSING' }} className="font-medium">
            #{bot.currentOrderNumber}
          </TextLink>
          {bot.processingStartedAt && bot.processingEndsAt && (
            <OrderProgress from={bot.processingStartedAt} until={bot.processingEndsAt} />
          )}
        </span>
      ),
  },
  {
    name: 'Since',
    width: '120px',
    align: 'right',
    cell: (bot) => (
      <span className="text-ink-3">
        <Time at={bot.deletedAt ?? bot.processingStartedAt ?? bot.updatedAt} />
      </span>
    ),
  },
];

export function Bots({ search }: { search: Search }) {
  const { bar, filter, isSet } = useFilter('bots', KEYS, search);
  const list = useLiveList({
    key: ['/api/bots', filter],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/bots', {
        query: { ...filter, limit: 100, cursor } as never,
        signal,
      });
      return { rows: page.bots, cursor: page.cursor };
    },
  });
  return (
    <FilterBar {...bar}>
      <Card flush>
        <LiveTable
          label="Bots"
          list={list}
          columns={COLUMNS}
          keyOf={idOf}
          empty={
            <Empty
              title={isSet ? 'No bot matches.' : 'There are no bots yet.'}
              command='curl -X POST $MUSTER/api/bots -H "$OPERATOR"'
            >
              Bots process orders, one at a time each.
            </Empty>
          }
        />
      </Card>
    </FilterBar>
  );
}
