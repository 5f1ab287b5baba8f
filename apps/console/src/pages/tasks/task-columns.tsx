import type { Task } from '@muster/contracts';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { ReasonChip } from '../../ui/reason-chip.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { endingOf } from '../../words/endings.ts';
import { count } from '../../words/numbers.ts';

export const TASK_COLUMNS: readonly Column<Task>[] = [
  {
    name: 'Task',
    width: '26%',
    cell: (task) => (
      <TextLink to="/tasks/$id" params={{ id: task.id }} className="font-medium">
        {task.name} <Id>{task.id}</Id>
      </TextLink>
    ),
  },
  {
    name: 'Status',
    width: '108px',
    narrow: 'second',
    cell: (task) => <StateBadge state={task.status} />,
  },
  {
    name: 'Progress',
    narrow: 'line',
    cell: (task) =>
      task.waitingFor ? (
        <ReasonChip reason={task.waitingFor} />
      ) : (
        <span className="text-ink-2">
          {count(task.counts.completed)} succeeded, {count(task.counts.failed)} failed
          {task.counts.cancelled > 0 && `, ${count(task.counts.cancelled)} cancelled`}
          {task.total !== null && ` of ${count(task.total)}`}
          {task.reason && `. ${task.cancelReason ?? endingOf(task.reason)}`}
        </span>
      ),
  },
  {
    name: 'Created',
    width: '96px',
    align: 'right',
    cell: (task) => (
      <span className="text-ink-3">
        <Time at={task.createdAt} />
      </span>
    ),
  },
];
