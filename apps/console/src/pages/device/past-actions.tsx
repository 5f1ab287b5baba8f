import type { Action } from '@muster/contracts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Outcome } from '../../ui/outcome.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';

const COLUMNS: readonly Column<Action>[] = [
  {
    name: 'Action',
    width: '30%',
    cell: (one) => (
      <TextLink to="/actions/$id" params={{ id: one.id }} className="font-medium">
        {nameOf(one)} <Id>{one.id}</Id>
      </TextLink>
    ),
  },
  { name: 'State', width: '108px', narrow: 'second', cell: (one) => <StateBadge state={one.state} /> },
  { name: 'Outcome', narrow: 'line', cell: (one) => <Outcome action={one} /> },
  {
    name: 'Ended',
    width: '96px',
    align: 'right',
    cell: (one) => <span className="text-ink-3">{one.endedAt && <Time at={one.endedAt} />}</span>,
  },
];

/** The last twenty that ended. */
export function PastActions({
  actions,
  deviceId,
}: {
  actions: readonly Action[] | undefined;
  deviceId: string;
}) {
  return (
    <Card
      flush
      title="History"
      aside={
        <TextLink to="/actions" search={{ space: 'device', lane: deviceId, state: 'finished' }}>
          all
        </TextLink>
      }
    >
      {actions === undefined ? (
        <SkeletonRows rows={4} />
      ) : actions.length === 0 ? (
        <Empty title="No action has ended yet." />
      ) : (
        <Table label="Finished actions" rows={actions} columns={COLUMNS} keyOf={(one) => one.id} />
      )}
    </Card>
  );
}
