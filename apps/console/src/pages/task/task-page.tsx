import type { Task } from '@muster/contracts';
import { useMemo } from 'react';
import { useApiText } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { AddingBar } from '../../ui/adding-bar.tsx';
import { Card } from '../../ui/card.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Id } from '../../ui/id.tsx';
import { JsonViewer } from '../../ui/json-viewer.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { ReasonChip } from '../../ui/reason-chip.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Thing } from '../../ui/thing.tsx';
import { Time } from '../../ui/time.tsx';
import { endingOf } from '../../words/endings.ts';
import { fieldOf, readJson } from '../../words/json-text.ts';
import { counted } from '../../words/numbers.ts';
import { duration } from '../../words/times.ts';
import { CancelTask } from '../tasks/cancel-task.tsx';
import { taskSegments } from '../tasks/task-segments.ts';
import { TaskDevices } from './task-devices.tsx';

/** One task: its progress, which devices lag, and why. */
export function TaskPage() {
  const { id } = address.useParams();
  const query = useApiText('/api/tasks/:id', { params: { id } });
  return (
    <Thing query={query} noun="Task" id={id} back={{ to: '/tasks', word: 'All tasks' }}>
      {(text) => <Shown key={id} text={text} />}
    </Thing>
  );
}

function Shown({ text }: { text: string }) {
  const task = useMemo(() => JSON.parse(text) as Task, [text]);
  const payload = useMemo(() => fieldOf(readJson(text), 'payload'), [text]);
  return (
    <Page
      name={task.name}
      title={
        <>
          {task.name} <Id>{task.id}</Id>
        </>
      }
      beside={
        <span className="flex flex-wrap items-center gap-3">
          <StateBadge loose state={task.status} />
          <TextLink to="/tasks">all tasks</TextLink>
        </span>
      }
      acts={<CancelTask task={task} />}
    >
      <Card title={task.kind} aside={<Since task={task} />}>
        <div className="flex flex-col gap-3">
          {task.waitingFor && (
            <div>
              <ReasonChip explain reason={task.waitingFor} />
            </div>
          )}
          {task.reason && (
            <p className="wrap-anywhere text-ink-2">
              {endingOf(task.reason)}
              {task.cancelReason !== undefined && ` “${task.cancelReason}”`}
            </p>
          )}
          {task.total === null ? (
            <p className="text-ink-2">Its devices are determined when it becomes active.</p>
          ) : (
            <AddingBar segments={taskSegments(task)} total={task.total} label={`Progress of ${task.name}`} />
          )}
        </div>
      </Card>
      <TaskDevices task={task} />
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title="About">
          <Facts facts={factsOf(task)} />
        </Card>
        {payload && (
          <Card title="Payload">
            <JsonViewer node={payload} name="payload" />
          </Card>
        )}
      </div>
    </Page>
  );
}

function Since({ task: { activatedAt, createdAt, endedAt } }: { task: Task }) {
  if (endedAt)
    return (
      <span>
        ended <Time at={endedAt} form="moment" />
        {activatedAt && `, after ${duration(Date.parse(endedAt) - Date.parse(activatedAt))}`}
      </span>
    );
  return (
    <span>
      {activatedAt ? 'active since ' : 'created '}
      <Time at={activatedAt ?? createdAt} form="moment" />
    </span>
  );
}

const factsOf = (task: Task): Parameters<typeof Facts>[0]['facts'] => [
  ['For', meantBy(task.targets)],
  ['Attempts', `${task.maxAttempts} for each device`],
  ['Time limit per device', duration(task.timeoutSeconds * 1_000)],
  ['Deadline', task.deadline && <Time at={task.deadline} form="exact" />],
  [
    'Created',
    <span key="at">
      <Time at={task.createdAt} form="exact" />
      {task.createdBy && ` by ${task.createdBy}`}
    </span>,
  ],
  [
    'Actions',
    <TextLink key="actions" to="/actions" search={{ tag: `task:${task.id}` }}>
      task:{task.id}
    </TextLink>,
  ],
];

function meantBy(targets: Task['targets']): string {
  if ('deviceCount' in targets) return `${counted(targets.deviceCount, 'device')} of a list`;
  if ('pcIds' in targets) return `the devices of ${counted(targets.pcIds.length, 'PC')}`;
  if ('tags' in targets) return `devices with ${targets.tags.join(', ')}`;
  return 'every device of a PC';
}
