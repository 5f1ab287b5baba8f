import { useState } from 'react';
import { Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

/** Whoever finds it paused at night wants to know why. */
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
      about="Nothing is sent until it is resumed; what happens meanwhile is sent then."
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
        hint="Shown where the webhook is shown as paused."
      />
    </FormDialog>
  );
}
