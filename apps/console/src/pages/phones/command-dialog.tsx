import type { Phone, RawCommand } from '@muster/contracts';
import { useId, useState } from 'react';
import { JsonText } from '../../api/ask.ts';
import { useMay } from '../../session/session.tsx';
import { Choice, Field, TextArea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { isJsonObject } from '../../words/json-text.ts';

const ERASE = 'EraseDevice';
/** The most common commands; any other name works too. */
const KNOWN = [
  'DeviceInformation',
  'SecurityInfo',
  'ProfileList',
  'InstalledApplicationList',
  'CertificateList',
  'DeviceLock',
  'ClearPasscode',
  'RestartDevice',
  'ShutDownDevice',
  'InstallProfile',
  'RemoveProfile',
];

/** Any Apple command. Erasing requires an admin and the typed serial number. */
export function CommandDialog(props: {
  phone: Phone;
  busy: boolean;
  onClose: () => void;
  onSend: (body: RawCommand) => void;
}) {
  const { busy, onClose, onSend, phone } = props;
  const isAdmin = useMay('admin');
  const [type, setType] = useState('DeviceInformation');
  const [keys, setKeys] = useState('{"Queries": ["DeviceName", "OSVersion", "SerialNumber"]}');
  const [priority, setPriority] = useState('normal');
  const [serial, setSerial] = useState('');
  const id = useId();
  const isErase = type.trim() === ERASE;
  const wanted = phone.serial ?? phone.udid;
  const wrong = isJsonObject(keys) ? undefined : 'This is not a JSON object.';
  const isForbidden = isErase && !isAdmin;
  const isReady = type.trim() !== '' && !wrong && !isForbidden && (!isErase || serial.trim() === wanted);
  return (
    <FormDialog
      title={`Command for ${phone.name}`}
      about="It waits in the lane of the phone; the answer of the phone becomes its result."
      verb={isErase ? 'Erase' : 'Send'}
      danger={isErase}
      busy={busy}
      wrong={!isReady}
      onClose={onClose}
      onDone={() => {
        const erased = isErase ? `, "serial": ${JSON.stringify(serial.trim())}` : '';
        const text = `{"requestType": ${JSON.stringify(type.trim())}, "keys": ${keys}, "priority": ${JSON.stringify(priority)}${erased}}`;
        // the typed text is valid JSON of this form
        onSend(new JsonText(text) as unknown as RawCommand);
      }}
    >
      <Field
        label="RequestType"
        required
        autoFocus
        list={id}
        value={type}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setType(event.target.value)}
        hint={
          isForbidden
            ? 'Erasing a phone requires the role admin.'
            : 'Any Apple command, or one from the list.'
        }
      />
      <datalist id={id}>
        {[...KNOWN, ...(isAdmin ? [ERASE] : [])].map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <TextArea
        label="Keys"
        rows={4}
        spellCheck={false}
        value={keys}
        aria-invalid={wrong !== undefined}
        hint={
          wrong ??
          'The keys beside RequestType. Write data as {"$data": "<base64>"}, a date as {"$date": "<time>"}.'
        }
        onChange={(event) => setKeys(event.target.value)}
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
      {isErase && isAdmin && (
        <Field
          label={`Type ${wanted} to erase this phone`}
          value={serial}
          autoComplete="off"
          onChange={(event) => setSerial(event.target.value)}
          hint="Deletes everything on the phone. An erased phone does not report."
        />
      )}
    </FormDialog>
  );
}
