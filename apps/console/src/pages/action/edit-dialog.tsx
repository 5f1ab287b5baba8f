import type { ActionCopy, ActionWithEvents } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, JsonText } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextArea } from '../../ui/field.tsx';
import { nameOf } from '../../words/action-name.ts';

/** Edit and run again: a copy with another payload. The old action does not change. */
export function EditDialog({
  action,
  payload,
  onClose,
}: {
  action: ActionWithEvents;
  payload: string;
  onClose: () => void;
}) {
  const [text, setText] = useState(payload);
  const { act, busy } = useAct();
  const navigate = useNavigate();
  const wrong = complaint(text);
  const isSame = text === payload;
  const run = async () => {
    // an unchanged payload is left out, so the server copies its own, hidden fields included; a changed one is sent as typed, which
    // keeps numbers above 2^53 exact
    const body = isSame ? {} : (new JsonText(`{"payload": ${text}}`) as ActionCopy);
    const made = await act(
      () => ask('POST', '/api/actions/:id/copy', { params: { id: action.id }, body }),
      ({ id }) => ({ text: `Queued as ${id}, at the end of its lane.` }),
    );
    if (!made) return;
    onClose();
    void navigate({ to: '/actions/$id', params: { id: made.id } });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Run ${nameOf(action)} again`}
      about="A copy goes to the end of the lane. This action stays as it is."
    >
      <TextArea
        label="Payload"
        rows={12}
        spellCheck={false}
        value={text}
        aria-invalid={wrong !== undefined}
        onChange={(event) => setText(event.target.value)}
        hint={
          wrong ??
          (isSame
            ? 'Unchanged: the copy has the payload of the old one.'
            : 'Changed: the copy has what is written here.')
        }
      />
      {action.hidden !== undefined && (
        <p className="text-table text-ink-2">A field that still says [hidden] keeps its value.</p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep as it is</Button>
        <Button look="first" disabled={busy || wrong !== undefined} onClick={() => void run()}>
          Run again
        </Button>
      </div>
    </Dialog>
  );
}

function complaint(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is not valid JSON: ${error instanceof Error ? error.message : ''}`;
  }
}
