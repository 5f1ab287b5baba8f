import type { NewToken } from '@muster/contracts';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';

const KINDS: readonly (readonly [NewToken['kind'], string])[] = [
  ['operator', 'operator: a person or an application, with a role'],
  ['worker', 'worker: claims and reports actions of generic lanes'],
  ['device-enrolment', 'device-enrolment: lets devices register themselves'],
  ['host-enrolment', 'host-enrolment: lets hosts register themselves'],
  ['publisher', 'publisher: publishes callbacks'],
];
const ROLES: readonly (readonly [NonNullable<NewToken['role']>, string])[] = [
  ['viewer', 'viewer: sees everything, changes nothing'],
  ['operator', 'operator: assigns, cancels, pauses, redrives'],
  ['admin', 'admin: makes tokens and tenants too'],
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
    <Dialog open onClose={onClose} title="New token">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onMake({ kind, name: name.trim(), ...(kind === 'operator' ? { role } : {}) });
        }}
      >
        <Field
          label="Name"
          required
          autoFocus
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint="Whose it is: the audit log says this name."
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
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" look="first" disabled={busy || name.trim() === ''}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
