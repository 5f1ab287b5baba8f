import type { Action } from '@muster/contracts';
import { useApi } from '../../api/use-api.ts';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Outcome } from '../../ui/outcome.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';

const KIND = 'mdm.raw';

/** Commands sent to the phone by hand, and its answers. The whole answer is on the page of the action. */
export function Commands({ id }: { id: string }) {
  const query = useApi('/api/actions', { query: { space: 'device', lane: id, kind: KIND, limit: 50 } });
  return (
    <Card
      flush
      title="Commands and answers"
      aside={
        <TextLink to="/actions" search={{ space: 'device', lane: id, kind: KIND }}>
          all
        </TextLink>
      }
    >
      <Data query={query}>
        {({ actions }) =>
          actions.length === 0 ? (
            <Empty title="No command was sent by hand yet." />
          ) : (
            <Table label="Commands" rows={actions} columns={COLUMNS} keyOf={(one) => one.id} />
          )
        }
      </Data>
    </Card>
  );
}

const COLUMNS: readonly Column<Action>[] = [
  {
    name: 'Command',
    width: '26%',
    cell: (one) => (
      <TextLink to="/actions/$id" params={{ id: one.id }} className="font-medium">
        {nameOf(one)} <Id>{one.id}</Id>
      </TextLink>
    ),
  },
  { name: 'State', width: '108px', narrow: 'second', cell: (one) => <StateBadge state={one.state} /> },
  {
    name: 'Answer',
    narrow: 'line',
    cell: (one) => (one.state === 'succeeded' ? <Answer action={one} /> : <Outcome action={one} />),
  },
  {
    name: 'Sent',
    width: '96px',
    align: 'right',
    cell: (one) => (
      <span className="text-ink-3">
        <Time at={one.createdAt} />
      </span>
    ),
  },
];

/** The start of the answer; the link shows all of it, also one that was too large for a result. */
function Answer({ action }: { action: Action }) {
  const result = action.result as { tooLarge?: number; answer?: string } | undefined;
  if (result?.tooLarge !== undefined && result.answer !== undefined)
    return (
      <a href={result.answer} className="underline decoration-line underline-offset-2 hover:decoration-ink">
        the whole answer, {Math.ceil(result.tooLarge / 1_024)} KB
      </a>
    );
  const text = JSON.stringify(result ?? null);
  return (
    <code className="line-clamp-2 font-mono text-label break-all text-ink-2">
      {text === 'null' || text === '{}' ? 'acknowledged' : text}
    </code>
  );
}
