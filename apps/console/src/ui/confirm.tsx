import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './field.tsx';

export interface Confirmation {
  readonly title: string;
  readonly about: ReactNode;
  /** Verb and number: "Redrive 2 410". */
  readonly verb: string;
  readonly danger?: boolean;
  /** What must be typed before the button works. */
  readonly typed?: string;
  readonly act: () => void;
}

/** A confirmation before an irreversible act. */
export function Confirm({ asked, onClose }: { asked: Confirmation | undefined; onClose: () => void }) {
  return (
    <Dialog open={asked !== undefined} onClose={onClose} title={asked?.title ?? ''} about={asked?.about}>
      {asked && <Form key={asked.title} asked={asked} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ asked, onClose }: { asked: Confirmation; onClose: () => void }) {
  const [text, setText] = useState('');
  // a number may be typed as it is shown, with its spaces
  const isRight = asked.typed === undefined || text.replace(/\s/g, '') === asked.typed.replace(/\s/g, '');
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRight) return;
        onClose();
        asked.act();
      }}
    >
      {asked.typed !== undefined && (
        <Field
          label={`Type ${asked.typed} to go on`}
          value={text}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep as it is</Button>
        <Button type="submit" look={asked.danger ? 'danger' : 'first'} disabled={!isRight}>
          {asked.verb}
        </Button>
      </div>
    </form>
  );
}
