import type { Batch, BatchTarget } from '@muster/contracts';
import { HelpedReason } from '../../reasons/helped-reason.tsx';
import { TextLink } from '../../ui/link.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { endingOf } from '../../words/endings.ts';
import { count } from '../../words/numbers.ts';
import { batchWord } from './segments.ts';

/** The devices of a batch: the outcome of each, or why it has none yet. */
export const targetColumns = (batch: Batch): readonly Column<BatchTarget>[] => [
  {
    name: 'Device',
    width: '20%',
    cell: (one) =>
      one.deviceId ? (
        <TextLink to="/devices/$id" params={{ id: one.deviceId }}>
          {one.deviceName ?? `device ${one.deviceId}`}
        </TextLink>
      ) : (
        <span className="wrap-anywhere text-ink-3">{one.target}</span>
      ),
  },
  {
    name: 'State',
    width: '120px',
    narrow: 'second',
    cell: (one) => <StateBadge state={one.state} word={batchWord(one.state)} />,
  },
  { name: 'Reason or outcome', narrow: 'line', cell: (one) => <Why target={one} batch={batch} /> },
  {
    name: 'Action',
    width: '120px',
    align: 'right',
    cell: (one) =>
      one.actionId && (
        <TextLink to="/actions/$id" params={{ id: one.actionId }}>
          {one.actionId}
        </TextLink>
      ),
  },
];

function Why({ target, batch }: { target: BatchTarget; batch: Batch }) {
  const { actionId, deviceId, error, state, waitingFor } = target;
  if (waitingFor && actionId !== undefined)
    return (
      <HelpedReason
        withoutFront
        reason={waitingFor}
        action={{ id: actionId, lane: deviceId, space: 'device' }}
      />
    );
  const said = error !== undefined ? endingOf(error) : state === 'waiting' ? notYet(batch) : ENDED[state];
  return said === undefined ? null : <span className="wrap-anywhere text-ink-2">{said}</span>;
}

/** States without an error of their own. */
const ENDED: Readonly<Partial<Record<BatchTarget['state'], string>>> = {
  stopped: 'The batch ended before it was queued.',
  forgotten: 'It ended so long ago that it is no longer kept.',
};

function notYet({ perMinute, status }: Batch): string {
  if (status === 'paused') return 'Not queued yet: the batch is paused.';
  return perMinute === null
    ? 'Not queued yet: it will be in a moment.'
    : `Not queued yet: the batch queues ${count(perMinute)} a minute.`;
}
