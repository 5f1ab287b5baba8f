import type { Device, QueuedAction } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { HelpedReason } from '../../reasons/helped-reason.tsx';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/id.tsx';
import { LeaseCountdown } from '../../ui/lease-countdown.tsx';
import { TextLink } from '../../ui/link.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';

/** What waits, in order of delivery, each with its reason and the button that helps. */
export function QueueTable({ queue, device }: { queue: readonly QueuedAction[]; device: Device }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const cancel = (one: QueuedAction) =>
    act(
      () => ask('POST', '/api/actions/:id/cancel', { params: { id: one.id }, body: {} }),
      ({ state }) =>
        state === 'claimed'
          ? { text: `${nameOf(one)} was asked to stop.` }
          : {
              text: `${nameOf(one)} is cancelled.`,
              undo: { word: 'Queue again', act: () => void again(one) },
            },
    );
  const again = (one: QueuedAction) =>
    act(
      () => ask('POST', '/api/actions/:id/copy', { params: { id: one.id }, body: {} }),
      ({ id }) => ({ text: `Queued again as ${id}, at the end: its place is lost.` }),
    );
  const front = (one: QueuedAction) =>
    act(() => ask('POST', '/api/actions/:id/move-to-front', { params: { id: one.id }, body: {} }), {
      text: `${nameOf(one)} is first.`,
    });

  const columns: readonly Column<QueuedAction>[] = [
    {
      name: '#',
      width: '36px',
      align: 'right',
      narrow: 'none',
      cell: (one) => <span className="text-ink-3">{one.position}</span>,
    },
    {
      name: 'Action',
      width: '22%',
      cell: (one) => (
        <TextLink to="/actions/$id" params={{ id: one.id }} className="font-medium">
          {nameOf(one)} <Id>{one.id}</Id>
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
      name: 'Why',
      narrow: 'line',
      cell: (one) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          {one.waitingFor && one.waitingFor.code !== 'RUNNING' && (
            <HelpedReason
              withoutFront
              reason={one.waitingFor}
              action={{ id: one.id, lane: device.id, space: 'device' }}
            />
          )}
          {device.current?.id === one.id && !one.cancelRequested && (
            <span className="text-ink-2">
              With the device, <Time at={device.current.sentAt} />, attempt {one.attempt} of {one.maxAttempts}
            </span>
          )}
          {device.current?.id === one.id && (
            <LeaseCountdown from={device.current.sentAt} until={device.current.leaseUntil} />
          )}
        </span>
      ),
    },
    {
      name: 'Assigned',
      width: '96px',
      align: 'right',
      cell: (one) => (
        <span className="text-ink-3">
          <Time at={one.assignedAt} />
        </span>
      ),
    },
    ...(may
      ? [
          {
            name: '-Acts',
            width: '200px',
            align: 'right' as const,
            cell: (one: QueuedAction) => (
              <span className="inline-flex gap-2">
                {one.status === 'pending' && one.position > 1 && (
                  <Button disabled={busy} onClick={() => void front(one)}>
                    To front
                  </Button>
                )}
                {one.cancelRequested ? (
                  <span className="text-amber-text">stop requested</span>
                ) : (
                  <Button disabled={busy} look="danger" onClick={() => void cancel(one)}>
                    {one.status === 'sent' ? 'Ask to stop' : 'Cancel'}
                  </Button>
                )}
              </span>
            ),
          },
        ]
      : []),
  ];
  return <Table label="Waiting actions" rows={queue} columns={columns} keyOf={(one) => one.id} />;
}
