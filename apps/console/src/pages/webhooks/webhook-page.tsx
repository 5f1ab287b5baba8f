import type { Webhook } from '@muster/contracts';
import { useApi } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Facts } from '../../ui/facts.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { Thing } from '../../ui/thing.tsx';
import { Time } from '../../ui/time.tsx';
import { count } from '../../words/numbers.ts';
import { Deliveries } from './deliveries.tsx';
import { Delivery } from './delivery.tsx';
import { LastAnswer } from './last-answer.tsx';
import { WebhookActs } from './webhook-acts.tsx';
import { nameOf, WebhookState } from './webhook-state.tsx';

/** One webhook: its URL, events and health, and everything that was sent. */
export function WebhookPage() {
  const { id } = address.useParams();
  const { delivery } = address.useSearch();
  const query = useApi('/api/webhooks/:id', { params: { id } }, { everyMs: 2_000 });
  return (
    <Thing query={query} noun="Webhook" id={id} back={{ to: '/webhooks', word: 'All webhooks' }}>
      {(webhook) => (
        <Page
          title={nameOf(webhook)}
          name={nameOf(webhook)}
          beside={<WebhookState webhook={webhook} />}
          acts={<WebhookActs webhook={webhook} />}
        >
          <Held webhook={webhook} />
          <Card title="Subscription">
            <Facts
              facts={[
                [
                  'Address',
                  <span key="url" className="break-all">
                    {webhook.url}
                  </span>,
                ],
                ['Events', webhook.events.join(', ')],
                ['Filter', filterOf(webhook)],
                [
                  'Delivered',
                  <TextLink key="delivered" to="." search={{ state: 'delivered' }}>
                    {count(webhook.counts.delivered)}
                  </TextLink>,
                ],
                [
                  'Failed',
                  <TextLink key="failed" to="." search={{ state: 'failed' }}>
                    {count(webhook.counts.failed)}
                  </TextLink>,
                ],
                ['Waiting', webhook.waiting === undefined ? undefined : count(webhook.waiting)],
                ['Last answer', <LastAnswer key="last" last={webhook.last} />],
                [
                  'Created',
                  <span key="at">
                    <Time at={webhook.createdAt} />
                    {webhook.createdBy && ` by ${webhook.createdBy}`}
                  </span>,
                ],
              ]}
            />
          </Card>
          {delivery !== undefined && <Delivery webhookId={id} id={delivery} />}
          <Deliveries webhook={webhook} />
        </Page>
      )}
    </Thing>
  );
}

/** Why nothing is sent, and the button that helps. */
function Held({ webhook }: { webhook: Webhook }) {
  if (webhook.state === 'paused')
    return (
      <Notice
        tone={webhook.pausedBy === 'failures' ? 'red' : 'amber'}
        title={webhook.pausedBy === 'failures' ? 'Paused after failures' : 'Paused'}
      >
        {webhook.pausedReason || 'No reason was given.'}{' '}
        {webhook.pausedSince && (
          <span className="text-ink-3">
            Since <Time at={webhook.pausedSince} form="moment" />.
          </span>
        )}{' '}
        No event is lost: events of the pause are sent after Resume.
      </Notice>
    );
  if (webhook.failingSince)
    return (
      <Notice tone="red" title="The endpoint accepts nothing">
        Every try since <Time at={webhook.failingSince} form="moment" /> has failed. The server tries again by
        itself; after a day without success it pauses the webhook.
      </Notice>
    );
  return null;
}

function filterOf({ filter }: Webhook): string {
  const parts = Object.entries(filter).map(
    ([key, list]) => `${key} ${(list as readonly string[]).join(', ')}`,
  );
  return parts.length > 0 ? parts.join('; ') : 'no filter: everything';
}
