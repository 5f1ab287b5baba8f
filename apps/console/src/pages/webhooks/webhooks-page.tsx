import type { Webhook } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import type { Column } from '../../ui/table.tsx';
import { count } from '../../words/numbers.ts';
import { LastAnswer } from './last-answer.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';
import { nameOf, WebhookState } from './webhook-state.tsx';

const idOf = (webhook: Webhook) => webhook.id;

const COLUMNS: readonly Column<Webhook>[] = [
  {
    name: 'Webhook',
    width: '26%',
    cell: (one) => (
      <>
        <TextLink to="/webhooks/$id" params={{ id: one.id }} className="font-medium">
          {nameOf(one)}
        </TextLink>
        <div className="text-label break-all text-ink-3">{one.url}</div>
      </>
    ),
  },
  { name: 'State', width: '120px', narrow: 'second', cell: (one) => <WebhookState webhook={one} /> },
  {
    name: 'Last answer',
    narrow: 'line',
    cell: (one) =>
      one.state === 'paused' && one.pausedReason ? (
        <span className="wrap-anywhere text-ink-2">{one.pausedReason}</span>
      ) : (
        <LastAnswer last={one.last} />
      ),
  },
  {
    name: 'Events',
    width: '20%',
    narrow: 'none',
    cell: (one) => <span className="text-ink-2">{one.events.join(', ')}</span>,
  },
  {
    name: 'Delivered',
    width: '96px',
    align: 'right',
    narrow: 'none',
    cell: (one) => count(one.counts.delivered),
  },
  {
    name: 'Failed',
    width: '80px',
    align: 'right',
    cell: (one) =>
      one.counts.failed === 0 ? (
        <span className="hidden text-ink-3 md:inline">0</span>
      ) : (
        <TextLink to="/webhooks/$id" params={{ id: one.id }} search={{ state: 'failed' }}>
          {count(one.counts.failed)}
          <span className="md:hidden"> failed</span>
        </TextLink>
      ),
  },
];

/** The webhooks, their last responses, and which endpoints are dead. */
export function WebhooksPage() {
  const { act, busy } = useAct();
  const navigate = useNavigate();
  const may = useMay('admin');
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<{ id: string; secret: string }>();
  const list = useLiveList({
    key: ['/api/webhooks'],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/webhooks', { query: { limit: 100, cursor }, signal });
      return { rows: page.webhooks, cursor: page.cursor };
    },
  });
  return (
    <Page
      title="Webhooks"
      name="Webhooks"
      acts={
        may && (
          <Button look="first" onClick={() => setMaking(true)}>
            New webhook
          </Button>
        )
      }
    >
      <Card flush>
        <LiveTable
          label="Webhooks"
          list={list}
          columns={COLUMNS}
          keyOf={idOf}
          empty={
            <Empty
              title="There are no webhooks yet."
              command={`curl -X POST $MUSTER/api/webhooks -H "$OPERATOR" -H "$JSON" -d '{"name": "billing", "url": "https://billing.example/muster", "events": ["action.failed"]}'`}
            >
              A webhook sends events to your URL: signed, in order, and retried until they are accepted.
            </Empty>
          }
        />
      </Card>
      {isMaking && (
        <WebhookDialog
          title="New webhook"
          verb="Create"
          busy={busy}
          onClose={() => setMaking(false)}
          onDone={(body) =>
            void act(() => ask('POST', '/api/webhooks', { body })).then((one) => {
              if (!one) return;
              setMaking(false);
              setMade(one);
            })
          }
        />
      )}
      <ShownOnce
        label="Signing secret"
        secret={made?.secret}
        about="The receiver verifies signatures with it. The server does not show it again."
        onClose={() => {
          if (made) void navigate({ to: '/webhooks/$id', params: { id: made.id } });
          setMade(undefined);
        }}
      />
    </Page>
  );
}
