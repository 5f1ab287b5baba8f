import type { DeviceAction, NewBatch } from '@muster/contracts';
import { type ReactNode, useState } from 'react';
import { JsonText } from '../../api/ask.ts';
import { Choice, Field, TextArea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

/** An action for a device: kind, payload, priority. The payload is sent as typed. */
export function AssignDialog(props: {
  title: string;
  about?: ReactNode;
  busy: boolean;
  onClose: () => void;
  onAssign: (body: DeviceAction, kind: string) => void;
  before?: ReactNode;
  after?: ReactNode;
  /** The fields around it are not valid yet. */
  wrong?: boolean;
}) {
  const [kind, setKind] = useState('');
  const [payload, setPayload] = useState('{}');
  const [priority, setPriority] = useState('normal');
  // an empty payload means {}
  const said = payload.trim() === '' ? '{}' : payload;
  const wrong = isJson(said) ? undefined : 'This is not valid JSON.';
  return (
    <FormDialog
      title={props.title}
      about={props.about}
      verb="Assign"
      busy={props.busy}
      wrong={props.wrong || wrong !== undefined || kind.trim() === ''}
      onClose={props.onClose}
      onDone={() => {
        const text = `{"kind": ${JSON.stringify(kind.trim())}, "payload": ${said}, "priority": ${JSON.stringify(priority)}}`;
        // the typed text is valid JSON of this form
        props.onAssign(new JsonText(text) as unknown as DeviceAction, kind.trim());
      }}
    >
      {props.before}
      <Field
        label="Kind"
        required
        autoFocus
        value={kind}
        autoComplete="off"
        onChange={(event) => setKind(event.target.value)}
        hint="In the words of the device: LOCK, SYNC, UPDATE."
      />
      <TextArea
        label="Payload"
        rows={4}
        spellCheck={false}
        value={payload}
        aria-invalid={wrong !== undefined}
        hint={wrong}
        onChange={(event) => setPayload(event.target.value)}
      />
      <Choice
        label="Priority"
        value={priority}
        onChange={(event) => setPriority(event.target.value)}
        options={[
          ['normal', 'normal: after waiting actions'],
          ['urgent', 'urgent: before normal actions'],
        ]}
      />
      {props.after}
    </FormDialog>
  );
}

export type Pace = Pick<NewBatch, 'ratePerMinute' | 'abort'>;

/** The same action for many devices. */
export function batchOf(
  targets: NewBatch['targets'],
  action: DeviceAction,
  { name, ...pace }: Pace & { readonly name?: string } = {},
): NewBatch {
  const text = (action as unknown as JsonText).text;
  const said = JSON.stringify({ ...(name ? { name } : {}), ...pace, targets });
  return new JsonText(`${said.slice(0, -1)}, "action": ${text}}`) as unknown as NewBatch;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
