import { useState } from 'react';
import { Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

/** The reason tells an operator who finds it paused at night why. */
export function PauseDialog({
  name,
  busy,
  onClose,
  onPause,
}: {
  name: string;
  busy: boolean;
  onClose: () => void;
  onPause: (reason: string) => void;
}) {
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={`Pause ${name}?`}
      about="Nothing is sent until it is resumed; then the events from the pause are sent."
      verb="Pause"
      busy={busy}
      onClose={onClose}
      onDone={() => onPause(reason.trim())}
    >
      <Field
        label="Reason"
        autoFocus
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        hint="Shown wherever the webhook appears as paused."
      />
    </FormDialog>
  );
}
