import type { ActionWithEvents } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useRedrive } from '../../api/use-redrive.tsx';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';

/** What can be done to one action. Acts that the role may not use are not drawn. */
export function ActionActs({ action, onEdit }: { action: ActionWithEvents; onEdit: () => void }) {
  const { act, busy } = useAct();
  const [asked, setAsked] = useState<Confirmation>();
  const { redrive: send } = useRedrive(setAsked);
  const may = useMay('operator');
  if (!may) return null;
  const params = { id: action.id };
  const copy = () =>
    act(
      () => ask('POST', '/api/actions/:id/copy', { params, body: {} }),
      ({ id }) => ({ text: `Queued again as ${id}, at the end of the lane: the old place is lost.` }),
    );
  const cancel = () =>
    act(
      () => ask('POST', '/api/actions/:id/cancel', { params, body: {} }),
      ({ state }) =>
        state === 'claimed'
          ? { text: 'It was asked to stop; it ends with the next report, or with its lease.' }
          : {
              text: 'Cancelled.',
              ...(mayBeCopied ? { undo: { word: 'Queue again', act: () => void copy() } } : {}),
            },
    );
  const front = () =>
    act(() => ask('POST', '/api/actions/:id/move-to-front', { params, body: {} }), {
      text: 'It is first in its lane.',
    });
  const redrive = () => send({ ids: [action.id] });
  const mayBeCopied = !action.fixed?.includes('copy');
  const isFinished = action.state !== 'pending' && action.state !== 'claimed';
  return (
    <>
      {action.waitingFor?.code === 'BEHIND' && !action.fixed?.includes('place') && (
        <Button disabled={busy} onClick={() => void front()}>
          To front
        </Button>
      )}
      {action.state === 'failed' && (
        <Button look="first" disabled={busy} onClick={() => void redrive()}>
          Redrive
        </Button>
      )}
      {isFinished && mayBeCopied && (
        <Button disabled={busy} onClick={onEdit}>
          Edit and run again
        </Button>
      )}
      {action.state === 'pending' && (
        <Button look="danger" disabled={busy} onClick={() => void cancel()}>
          Cancel
        </Button>
      )}
      {action.state === 'claimed' &&
        (action.cancelRequested ? (
          <span className="text-table text-amber-text">stop requested</span>
        ) : (
          <Button look="danger" disabled={busy} onClick={() => void cancel()}>
            Ask to stop
          </Button>
        ))}
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}
