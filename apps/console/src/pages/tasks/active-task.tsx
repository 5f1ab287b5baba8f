import type { Task } from '@muster/contracts';
import { AddingBar } from '../../ui/adding-bar.tsx';
import { Card } from '../../ui/card.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { CancelTask } from './cancel-task.tsx';
import { taskSegments } from './task-segments.ts';

/** The task that all PCs work on. */
export function ActiveTask({ task }: { task: Task | undefined }) {
  if (!task) return <p className="text-ink-2">No task is active.</p>;
  return (
    <Card
      title={
        <>
          Active:{' '}
          <TextLink to="/tasks/$id" params={{ id: task.id }}>
            {task.name}
          </TextLink>
        </>
      }
      aside={
        <>
          {task.activatedAt && (
            <span>
              since <Time at={task.activatedAt} form="moment" />
            </span>
          )}
          <CancelTask task={task} />
        </>
      }
    >
      <AddingBar segments={taskSegments(task)} total={task.total ?? 0} label={`Progress of ${task.name}`} />
    </Card>
  );
}
