import type { Task } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { count } from '../../words/numbers.ts';

/** Cancels a task; afterwards the button shows its state. For many devices the number must be typed. */
export function CancelTask({ task }: { task: Task }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const [asked, setAsked] = useState<Confirmation>();
  if (task.status !== 'running' && task.status !== 'pending') return null;
  if (task.cancelRequested) return <span className="text-table text-amber-text">stop requested</span>;
  if (!may) return null;
  const { pending, running } = task.counts;
  const left = pending + running;
  const cancel = () =>
    setAsked({
      title: `Cancel ${task.name}?`,
      about:
        task.total === null
          ? 'It has not started: no device will get it.'
          : `${count(pending)} that were not handed out are cancelled, ${count(running)} that run are asked to stop.`,
      verb: task.total === null ? 'Cancel the task' : `Cancel ${count(left)}`,
      danger: true,
      ...(left > 100 ? { typed: String(left) } : {}),
      act: () =>
        void act(() => ask('POST', '/api/tasks/:id/cancel', { params: { id: task.id }, body: {} }), {
          text: `${task.name} is being cancelled.`,
        }),
    });
  return (
    <>
      <Button look="danger" disabled={busy} onClick={cancel}>
        Cancel task
      </Button>
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}
