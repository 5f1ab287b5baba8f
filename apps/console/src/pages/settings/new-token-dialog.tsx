import type { NewToken } from '@muster/contracts';
import { useState } from 'react';
import { Choice, Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

const KINDS: readonly (readonly [NewToken['kind'], string])[] = [
  ['operator', 'operator: a person or an application, with a role'],
  ['worker', 'worker: claims and reports actions of generic lanes'],
  ['device-enrolment', 'device-enrolment: lets devices register themselves'],
  ['host-enrolment', 'host-enrolment: lets hosts register themselves'],
  ['publisher', 'publisher: publishes callbacks'],
];
const ROLES: readonly (readonly [NonNullable<NewToken['role']>, string])[] = [
  ['viewer', 'viewer: sees everything, changes nothing'],
  ['operator', 'operator: assigns, cancels, redrives, pauses lanes and batches'],
  ['admin', 'admin: creates tokens and tenants too'],
];

export function NewTokenDialog({
  busy,
  onClose,
  onMake,
}: {
  busy: boolean;
  onClose: () => void;
  onMake: (body: NewToken) => void;
}) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<NewToken['kind']>('operator');
  const [role, setRole] = useState<NonNullable<NewToken['role']>>('viewer');
  return (
    <FormDialog
      title="New token"
      verb="Create"
      busy={busy}
      wrong={name.trim() === ''}
      onClose={onClose}
      onDone={() => onMake({ kind, name: name.trim(), ...(kind === 'operator' ? { role } : {}) })}
    >
      <Field
        label="Name"
        required
        autoFocus
        value={name}
        onChange={(event) => setName(event.target.value)}
        hint="Who uses it: the audit log shows this name."
      />
      <Choice
        label="Kind"
        value={kind}
        options={KINDS}
        onChange={(event) => setKind(event.target.value as NewToken['kind'])}
      />
      {kind === 'operator' && (
        <Choice
          label="Role"
          value={role}
          options={ROLES}
          onChange={(event) => setRole(event.target.value as typeof role)}
        />
      )}
    </FormDialog>
  );
}
