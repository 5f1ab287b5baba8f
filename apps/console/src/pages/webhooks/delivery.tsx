import { X } from 'lucide-react';
import { useApi, useApiText } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { JsonViewer } from '../../ui/json-viewer.tsx';
import { PageLink } from '../../ui/page-link.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Time } from '../../ui/time.tsx';
import { fieldOf, readJson } from '../../words/json-text.ts';
import { duration } from '../../words/times.ts';

/** A delivery: its body, and the response to each try, newest first. */
export function Delivery({ webhookId, id }: { webhookId: string; id: string }) {
  const { delivery: _, ...search } = address.useSearch();
  const given = { params: { id: webhookId, deliveryId: id } };
  const query = useApi('/api/webhooks/:id/deliveries/:deliveryId', given, { everyMs: 1_000 });
  const whole = useApiText('/api/webhooks/:id/deliveries/:deliveryId', given);
  const request = whole.data === undefined ? undefined : fieldOf(readJson(whole.data), 'request');
  return (
    <Card
      title={
        <span className="flex flex-wrap items-center gap-2">
          Delivery {id} {query.data && <StateBadge state={query.data.state} word={query.data.state} loose />}
        </span>
      }
      aside={
        <PageLink
          to="."
          search={search}
          aria-label="Close the delivery"
          className="inline-flex size-6 items-center justify-center rounded-control text-ink-2 hover:bg-sunken"
        >
          <X aria-hidden size={16} />
        </PageLink>
      }
    >
      <Data query={query}>
        {(delivery) => (
          <div className="grid gap-4 lg:grid-cols-2">
            <section aria-label="Request" className="min-w-0">
              <h3 className="mb-2 text-label font-medium text-ink-3">Request</h3>
              {delivery.request === null ? (
                <p className="text-ink-2">The delivery is no longer kept.</p>
              ) : (
                request && <JsonViewer node={request} name="request" />
              )}
            </section>
            <section aria-label="Answers" className="min-w-0">
              <h3 className="mb-2 text-label font-medium text-ink-3">Answers, newest first</h3>
              {delivery.tries.length === 0 && <p className="text-ink-2">It was not sent yet.</p>}
              <ol className="flex flex-col gap-3">
                {delivery.tries.toReversed().map((one) => (
                  <li key={one.attempt} className="border-l-2 pl-3">
                    <p className="flex flex-wrap gap-x-2">
                      <span className="font-medium">Try {one.attempt}</span>
                      <span className={one.error === null ? 'text-green-text' : 'text-red-text'}>
                        {one.status ?? 'no answer'}
                        {one.error !== null && ` · ${one.error}`}
                      </span>
                      <span className="text-ink-3">
                        in {duration(one.tookMs)}, <Time at={one.at} />
                      </span>
                    </p>
                    {Object.keys(one.headers).length > 0 && (
                      <details className="text-label text-ink-2">
                        <summary className="min-h-6">Headers</summary>
                        <dl className="font-mono break-all">
                          {Object.entries(one.headers).map(([name, value]) => (
                            <div key={name}>
                              <dt className="inline text-ink-3">{name}: </dt>
                              <dd className="inline">{value}</dd>
                            </div>
                          ))}
                        </dl>
                      </details>
                    )}
                    {one.body !== '' && (
                      <pre className="mt-1 overflow-x-auto rounded-control bg-sunken px-3 py-2 font-mono text-label whitespace-pre-wrap wrap-anywhere">
                        {one.body}
                      </pre>
                    )}
                  </li>
                ))}
              </ol>
            </section>
          </div>
        )}
      </Data>
    </Card>
  );
}
