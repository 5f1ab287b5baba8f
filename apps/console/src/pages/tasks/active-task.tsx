import type { Task } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { AddingBar } from '../../ui/adding-bar.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Time } from '../../ui/time.tsx';
import { count } from '../../words/numbers.ts';
import { taskSegments } from './task-segments.ts';

/** The task that all PCs work on. */
export function ActiveTask({ task }: { task: Task | undefined }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const [asked, setAsked] = useState<Confirmation>();
  if (!task) return <p className="text-ink-2">No task is active.</p>;
  const left = task.counts.pending + task.counts.running;
  const cancel = () =>
    setAsked({
      title: `Cancel ${task.name}?`,
      about: `${count(task.counts.pending)} that were not handed out are cancelled, ${count(task.counts.running)} that run are told to stop.`,
      verb: `Cancel ${count(left)}`,
      danger: true,
      ...(left > 100 ? { typed: String(left) } : {}),
      act: () =>
        void act(() => ask('POST', '/api/tasks/:id/cancel', { params: { id: task.id }, body: {} }), {
          text: `${task.name} is being ended.`,
        }),
    });
  return (
    <Card
      title={<>Active: {task.name}</>}
      aside={
        <>
          {task.activatedAt && (
            <span>
              since <Time at={task.activatedAt} form="moment" />
            </span>
          )}
          {may &&
            (task.cancelRequested ? (
              <span className="text-amber-text">stop requested</span>
            ) : (
              <Button look="danger" disabled={busy} onClick={cancel}>
                Cancel task
              </Button>
            ))}
        </>
      }
    >
      <AddingBar segments={taskSegments(task)} total={task.total ?? 0} label={`Progress of ${task.name}`} />
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </Card>
  );
}
