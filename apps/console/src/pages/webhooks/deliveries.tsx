import type { Webhook, WebhookDelivery } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { address } from '../../page-address.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time } from '../../ui/time.tsx';
import { LastAnswer } from './last-answer.tsx';

const STATES = ['waiting', 'sending', 'delivered', 'failed', 'cancelled'] as const;
const idOf = (delivery: WebhookDelivery) => delivery.id;

/** The deliveries, newest first; an open one is above the list. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { act, busy } = useAct();
  const may = useMay('admin');
  const search = address.useSearch();
  const state = STATES.find((one) => one === search.state);
  const params = { id: webhook.id };
  const list = useLiveList({
    key: ['/api/webhooks/:id/deliveries', webhook.id, state],
    idOf,
    everyMs: 1_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/webhooks/:id/deliveries', {
        params,
        query: { state, limit: 50, cursor },
        signal,
      });
      return { rows: page.deliveries, cursor: page.cursor };
    },
  });
  const replay = (one: WebhookDelivery) =>
    void act(
      () =>
        ask('POST', '/api/webhooks/:id/deliveries/:deliveryId/replay', {
          params: { ...params, deliveryId: one.id },
          body: {},
        }),
      ({ id }) => ({ text: `Queued again as ${id}, behind what waits.` }),
    );
  const columns: readonly Column<WebhookDelivery>[] = [
    {
      name: 'Event',
      width: '24%',
      cell: (one) => (
        <TextLink to="." search={{ ...search, delivery: one.id }} className="font-medium">
          {one.event} <Id>{one.id}</Id>
        </TextLink>
      ),
    },
    {
      name: 'State',
      width: '116px',
      narrow: 'second',
      cell: (one) => <StateBadge state={one.state} word={one.state} />,
    },
    {
      name: 'Last answer',
      narrow: 'line',
      cell: (one) => (
        <span className="inline-flex flex-wrap gap-x-2">
          <LastAnswer last={one.last} />
          {one.attempt > 1 && <span className="text-ink-3">try {one.attempt}</span>}
          {one.replayOf && <span className="text-ink-3">again of {one.replayOf}</span>}
        </span>
      ),
    },
    {
      name: 'Of',
      width: '130px',
      narrow: 'none',
      cell: (one) => <Subject subject={one.subject} />,
    },
    {
      name: 'Happened',
      width: '92px',
      align: 'right',
      cell: (one) => (
        <span className="text-ink-3">
          <Time at={one.eventAt} />
        </span>
      ),
    },
    ...(may
      ? [
          {
            name: '-Acts',
            width: '92px',
            align: 'right' as const,
            cell: (one: WebhookDelivery) =>
              one.state === 'delivered' || one.state === 'failed' || one.state === 'cancelled' ? (
                <Button disabled={busy} aria-label={`Replay ${one.id}`} onClick={() => replay(one)}>
                  Replay
                </Button>
              ) : null,
          },
        ]
      : []),
  ];
  return (
    <Card flush title="Deliveries" aside="newest first">
      <div className="border-b px-4 py-2">
        <Tabs
          label="State of deliveries"
          tabs={[undefined, ...STATES].map((one) => ({
            word: one ?? 'all',
            search: one === undefined ? {} : { state: one },
            isOpen: one === state,
          }))}
        />
      </div>
      <LiveTable
        label="Deliveries"
        list={list}
        columns={columns}
        keyOf={idOf}
        empty={
          <Empty title={state ? `Nothing is ${state}.` : 'Nothing was sent yet.'}>
            Events that happen after the webhook was created are queued and sent here.
          </Empty>
        }
      />
    </Card>
  );
}

/** The subject of the event; an action has a page. */
function Subject({ subject }: { subject: string | null }) {
  const id = subject?.startsWith('action/') ? subject.slice('action/'.length) : undefined;
  if (id === undefined) return <span className="text-ink-2">{subject}</span>;
  return (
    <TextLink to="/actions/$id" params={{ id }} className="text-ink-2">
      {subject}
    </TextLink>
  );
}
