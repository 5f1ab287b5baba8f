import type { Action, Device, QueuedAction } from '@muster/contracts';
import { Pause, TriangleAlert } from 'lucide-react';
import { useApi } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Id } from '../../ui/id.tsx';
import { LaneLine } from '../../ui/lane-line.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Presence } from '../../ui/presence.tsx';
import { Thing } from '../../ui/thing.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';
import { DeviceActs } from './device-acts.tsx';
import { Milestones } from './milestones.tsx';
import { PastActions } from './past-actions.tsx';
import { QueueTable } from './queue-table.tsx';

/** What a device did, what it is doing, what waits for it, and why. */
export function DevicePage() {
  const { id } = address.useParams();
  const device = useApi('/api/devices/:id', { params: { id } });
  const queue = useApi('/api/devices/:id/queue', { params: { id } });
  const past = useApi('/api/devices/:id/actions', {
    params: { id },
    query: { state: 'finished', limit: 20 },
  });
  return (
    <Thing
      query={device}
      noun="Device"
      id={id}
      back={{ to: '/targets', search: { type: 'devices' }, word: 'All devices' }}
    >
      {(shown) => <Shown device={shown} queue={queue.data?.actions} past={past.data?.actions} />}
    </Thing>
  );
}

function Shown({
  device,
  queue,
  past,
}: {
  device: Device;
  queue: readonly QueuedAction[] | undefined;
  past: readonly Action[] | undefined;
}) {
  const { current } = device;
  const waiting = (queue ?? []).filter((one) => one.id !== current?.id);
  const named = (one: { id: string; kind: string }) => nameOf(queue?.find(({ id }) => id === one.id) ?? one);
  return (
    <Page
      name={device.name}
      title={
        <>
          {device.name} {device.externalId && <Id>{device.externalId}</Id>}
        </>
      }
      beside={
        <span className="flex flex-wrap items-center gap-3">
          <Presence online={device.online} lastSeenAt={device.lastSeenAt} />
          {device.pausedAt && <Badge icon={Pause} tone="amber" word="paused" />}
          {device.state === 'error' && <Badge icon={TriangleAlert} tone="red" word="in error" />}
        </span>
      }
      acts={<DeviceActs device={device} />}
    >
      {device.state === 'error' && device.stateReason && (
        <p className="rounded-card border border-red-fill bg-surface px-4 py-3 wrap-anywhere">
          <span className="font-medium text-red-text">In error: </span>
          {device.stateReason}
        </p>
      )}
      {device.pausedAt && (
        <p className="rounded-card border border-amber-fill bg-surface px-4 py-3 wrap-anywhere">
          <span className="font-medium text-amber-text">Lane paused</span>
          {device.pausedBy && ` by ${device.pausedBy}`}, <Time at={device.pausedAt} />: nothing more goes out
          until it is resumed.
        </p>
      )}
      <Card title="Lane">
        <LaneLine
          label={`Lane of ${device.name}: done, running, waiting`}
          past={[...(past ?? [])].reverse().map((one) => ({ ...one, kind: nameOf(one) }))}
          running={
            current ? { ...current, kind: named(current), state: 'claimed', since: current.sentAt } : null
          }
          waiting={waiting.map((one) => ({ ...one, kind: nameOf(one), state: one.status }))}
        />
      </Card>
      <Card flush title="Queue" aside={`${device.queueDepth} waiting`}>
        {queue === undefined ? (
          <div className="h-row" />
        ) : queue.length === 0 ? (
          <Empty title="Nothing waits for it.">An action that you assign goes out at its next contact.</Empty>
        ) : (
          <QueueTable queue={queue} device={device} />
        )}
      </Card>
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <PastActions actions={past} deviceId={device.id} />
        <div className="flex min-w-0 flex-col gap-4">
          <Card title="About">
            <Facts
              facts={[
                ['Id', device.id],
                [
                  'Tags',
                  device.tags.length > 0
                    ? device.tags.map((tag) => (
                        <TextLink key={tag} to="/targets" search={{ type: 'devices', tag }} className="mr-2">
                          {tag}
                        </TextLink>
                      ))
                    : 'none',
                ],
                [
                  'PC',
                  device.pcId && (
                    <TextLink key="pc" to="/tasks" search={{ pc: device.pcId }}>
                      {device.pcId}
                    </TextLink>
                  ),
                ],
                ['Absent since', device.absentSince && <Time at={device.absentSince} />],
                ['Expires', device.expiresAt && <Time at={device.expiresAt} form="exact" />],
                [
                  'If all succeeds',
                  device.projectedExpiresAt && device.projectedExpiresAt !== device.expiresAt && (
                    <Time at={device.projectedExpiresAt} form="exact" />
                  ),
                ],
                ['Done when', device.ack === 'onDelivery' ? 'handed out' : 'reported'],
                ['Registered', <Time key="at" at={device.createdAt} form="exact" />],
              ]}
            />
          </Card>
          <Milestones id={device.id} />
        </div>
      </div>
    </Page>
  );
}
