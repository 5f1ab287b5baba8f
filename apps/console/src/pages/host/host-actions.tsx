import type { HostAction, Service } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Id } from '../../ui/id.tsx';
import { LeaseCountdown } from '../../ui/lease-countdown.tsx';
import { TextLink } from '../../ui/link.tsx';
import { ReasonChip } from '../../ui/reason-chip.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { endingOf } from '../../words/endings.ts';

/** All actions of a host: waiting ones first, then finished ones. */
export function HostActions(props: {
  unfinished: readonly HostAction[] | undefined;
  past: readonly HostAction[] | undefined;
  services: readonly Service[];
  hostId: string;
}) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const named = new Map(props.services.map((one) => [one.id, one.displayName]));
  const cancel = (one: HostAction) =>
    act(
      () =>
        ask('POST', '/api/hosts/:hostId/actions/:actionId/cancel', {
          params: { hostId: props.hostId, actionId: one.id },
          body: {},
        }),
      ({ status }) => ({
        text: status === 'running' ? `${one.kind} was asked to stop.` : `${one.kind} is cancelled.`,
      }),
    );
  const columns: readonly Column<HostAction>[] = [
    {
      name: 'Action',
      width: '24%',
      cell: (one) => (
        <TextLink to="/actions/$id" params={{ id: one.id }} className="font-medium">
          {one.kind} {named.get(one.serviceId)} <Id>{one.id}</Id>
        </TextLink>
      ),
    },
    {
      name: 'State',
      width: '108px',
      narrow: 'second',
      cell: (one) => <StateBadge state={one.status} />,
    },
    {
      name: 'Reason or outcome',
      narrow: 'line',
      cell: (one) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          {one.status === 'queued' && one.waitingFor && <ReasonChip reason={one.waitingFor} />}
          {one.status === 'running' && one.startedAt && one.leaseUntil && (
            <LeaseCountdown from={one.startedAt} until={one.leaseUntil} />
          )}
          <span className="wrap-anywhere text-ink-2">
            {endingOf(one.message ?? (one.status === 'succeeded' ? '' : (one.reason ?? '')))}
          </span>
        </span>
      ),
    },
    {
      name: 'Requested',
      width: '96px',
      align: 'right',
      cell: (one) => (
        <span className="text-ink-3">
          <Time at={one.requestedAt} />
        </span>
      ),
    },
    ...(may
      ? [
          {
            name: '-Acts',
            width: '120px',
            align: 'right' as const,
            cell: (one: HostAction) =>
              one.finishedAt !== undefined || one.cancelRequested ? null : (
                <Button look="danger" disabled={busy} onClick={() => void cancel(one)}>
                  {one.status === 'running' ? 'Ask to stop' : 'Cancel'}
                </Button>
              ),
          },
        ]
      : []),
  ];
  if (!props.unfinished || !props.past) return <SkeletonRows />;
  const rows = [...[...props.unfinished].reverse(), ...props.past];
  return (
    <Card flush title="Actions">
      {rows.length === 0 ? (
        <Empty title="No actions yet." />
      ) : (
        <Table label="Actions" rows={rows} columns={columns} keyOf={(one) => one.id} />
      )}
    </Card>
  );
}
