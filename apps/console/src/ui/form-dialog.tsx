import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** A dialog with fields. The button, or Enter, submits it once they are valid. */
export function FormDialog(props: {
  title: string;
  about?: ReactNode;
  verb: string;
  danger?: boolean;
  busy: boolean;
  /** The typed text is not valid yet. */
  wrong?: boolean;
  onClose: () => void;
  onDone: () => void;
  children: ReactNode;
}) {
  const { about, busy, children, danger, onClose, onDone, title, verb, wrong = false } = props;
  return (
    <Dialog open onClose={onClose} title={title} about={about}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && !wrong) onDone();
        }}
      >
        {children}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" look={danger ? 'danger' : 'first'} disabled={busy || wrong}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
