import type { HostAction, Service } from '@muster/contracts';
import { useApi } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { Presence } from '../../ui/presence.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { Thing } from '../../ui/thing.tsx';
import { duration } from '../../words/times.ts';
import { HostActions } from './host-actions.tsx';
import { HostMenu } from './host-menu.tsx';
import { ServiceLane } from './service-lane.tsx';

/** What runs on a host, one lane per service. */
export function HostPage() {
  const { id: hostId } = address.useParams();
  const params = { hostId };
  const load = useApi('/api/hosts/:hostId/load', { params });
  const services = useApi('/api/hosts/:hostId/services', { params });
  const unfinished = useApi('/api/hosts/:hostId/actions', {
    params,
    query: { status: 'unfinished', limit: 500 },
  });
  const past = useApi('/api/hosts/:hostId/actions', { params, query: { state: 'finished', limit: 100 } });
  return (
    <Thing
      query={load}
      noun="Host"
      id={hostId}
      back={{ to: '/targets', search: { type: 'hosts' }, word: 'All hosts' }}
    >
      {(host) => (
        <Page
          title={host.name}
          name={host.name}
          beside={<Presence online={host.online} lastSeenAt={host.lastSeenAt} />}
          acts={<HostMenu id={hostId} name={host.name} />}
        >
          <p className="text-ink-2">
            {host.queued} pending, {host.running} running
            {host.stuck.length > 0 && <span className="text-amber-text">, {host.stuck.length} stuck</span>}
            {host.finished &&
              ` · the last ${host.finished.actions} took ${duration(host.finished.processingMs.p50)} (median), ${duration(host.finished.processingMs.most)} at most`}
          </p>
          <Card flush title="Services">
            <Data query={services} loading={<SkeletonRows rows={3} />}>
              {(data) =>
                data.services.length === 0 ? (
                  <Empty
                    title="It has no services yet."
                    command={`curl -X POST $MUSTER/api/hosts/${hostId}/services -H "$OPERATOR" -H "$JSON" -d '{"unitName": "nginx.service"}'`}
                  />
                ) : (
                  <ul>
                    {data.services.map((service) => (
                      <li key={service.id} className="border-b px-4 py-3 last:border-b-0">
                        <ServiceLane
                          service={service}
                          waiting={of(service, unfinished.data?.actions)}
                          past={of(service, past.data?.actions)}
                        />
                      </li>
                    ))}
                  </ul>
                )
              }
            </Data>
          </Card>
          <HostActions
            unfinished={unfinished.data?.actions}
            past={past.data?.actions}
            services={services.data?.services ?? []}
            hostId={hostId}
          />
        </Page>
      )}
    </Thing>
  );
}

function of(service: Service, actions: readonly HostAction[] | undefined): readonly HostAction[] {
  return (actions ?? []).filter((one) => one.serviceId === service.id);
}
