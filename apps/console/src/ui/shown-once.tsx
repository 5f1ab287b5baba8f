import { useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';

/** A secret that the server does not show again: only Copy or "I have it" closes it. */
export function ShownOnce({
  secret,
  about,
  label = 'Token',
  onClose,
}: {
  label?: string;
  secret: string | undefined;
  about: string;
  onClose: () => void;
}) {
  const field = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret ?? '');
      onClose();
    } catch {
      // without HTTPS there is no clipboard: it is selected, and Ctrl C copies it
      field.current?.querySelector('input')?.select();
      setSelected(true);
    }
  };
  return (
    <Dialog open={secret !== undefined} onClose={onClose} sticky title="Shown only once" about={about}>
      <div ref={field}>
        <Field
          label={label}
          readOnly
          value={secret ?? ''}
          className="font-mono"
          hint={selected ? 'It is selected: press Ctrl or ⌘ and C.' : undefined}
        />
      </div>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>I have it</Button>
        <Button look="first" onClick={() => void copy()}>
          Copy and close
        </Button>
      </div>
    </Dialog>
  );
}
