import type { Task, TaskDeviceLine } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { address } from '../../page-address.ts';
import { HelpedReason } from '../../reasons/helped-reason.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { ReasonChip } from '../../ui/reason-chip.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { endingOf } from '../../words/endings.ts';
import { countOf, TASK_PARTS, wordOf } from '../tasks/task-segments.ts';

const keyOf = (one: TaskDeviceLine) => one.deviceId;

const COLUMNS: readonly Column<TaskDeviceLine>[] = [
  {
    name: 'Device',
    width: '20%',
    cell: (one) => (
      <TextLink to="/devices/$id" params={{ id: one.deviceId }}>
        {one.deviceName ?? `device ${one.deviceId}`}
      </TextLink>
    ),
  },
  {
    name: 'State',
    width: '116px',
    narrow: 'second',
    cell: (one) => <StateBadge state={one.status} />,
  },
  { name: 'Reason or outcome', narrow: 'line', cell: (one) => <Why device={one} /> },
  {
    name: 'PC',
    width: '72px',
    align: 'right',
    narrow: 'none',
    cell: (one) =>
      one.pcId && (
        <TextLink to="/tasks" search={{ pc: one.pcId }} aria-label={`PC ${one.pcId}`}>
          {one.pcId}
        </TextLink>
      ),
  },
  {
    name: 'Attempt',
    width: '72px',
    align: 'right',
    narrow: 'none',
    cell: (one) => one.attempt > 0 && `${one.attempt} of ${one.maxAttempts}`,
  },
  {
    name: 'Action',
    width: '84px',
    align: 'right',
    cell: (one) =>
      one.id && (
        <TextLink to="/actions/$id" params={{ id: one.id }}>
          {one.id}
        </TextLink>
      ),
  },
];

/** Why it has not ended, or how it did. */
function Why({ device: { deviceId, error, id, reason, status, waitingFor } }: { device: TaskDeviceLine }) {
  if (waitingFor)
    return id === null ? (
      <ReasonChip reason={waitingFor} />
    ) : (
      <HelpedReason withoutFront reason={waitingFor} action={{ id, lane: deviceId, space: 'device' }} />
    );
  const said = error ?? (status === 'completed' ? undefined : reason);
  return said === undefined ? null : (
    <span className="wrap-anywhere text-ink-2">{endingOf(said, 'one')}</span>
  );
}

/** The devices of a task in the state that the address names. */
export function TaskDevices({ task }: { task: Task }) {
  const { status } = address.useSearch();
  const list = useLiveList({
    key: ['/api/tasks/:id/devices', task.id, status],
    idOf: keyOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/tasks/:id/devices', {
        params: { id: task.id },
        query: { status, limit: 100, cursor } as never,
        signal,
      });
      return { rows: page.taskDevices, cursor: page.cursor };
    },
  });
  return (
    <>
      <Tabs
        label="Outcome"
        tabs={[
          {
            word: 'all',
            ...(task.total === null ? {} : { count: task.total }),
            search: {},
            isOpen: status === undefined,
          },
          ...TASK_PARTS.filter((part) => countOf(task, part) > 0 || part === status).map((part) => ({
            word: wordOf(part),
            count: countOf(task, part),
            search: { status: part },
            isOpen: part === status,
          })),
        ]}
      />
      <Card flush>
        <LiveTable
          label="Devices of the task"
          list={list}
          columns={COLUMNS}
          keyOf={keyOf}
          empty={
            <Empty
              title={
                task.total === null
                  ? 'Its devices are not known yet.'
                  : 'No device of the task is in this state.'
              }
            />
          }
        />
      </Card>
    </>
  );
}
