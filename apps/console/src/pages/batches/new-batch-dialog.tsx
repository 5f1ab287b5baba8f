import type { NewBatch } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { AssignDialog, batchOf, type Pace } from '../assign/assign-dialog.tsx';
import { useForMany } from '../assign/use-for-many.tsx';

/** One action for many devices. Targets are required; pace and abort rule are optional. */
export function NewBatchDialog({ onClose }: { onClose: () => void }) {
  const { act, busy } = useAct();
  const { forMany, busy: isCounting, dialog } = useForMany();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [whom, setWhom] = useState('tags');
  const [tags, setTags] = useState('');
  const [perMinute, setPerMinute] = useState('');
  const [percent, setPercent] = useState('');
  const meant = tags
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean);
  const targets: NewBatch['targets'] = whom === 'all' ? { all: true } : { tags: meant };
  const pace: Pace = {
    ...(perMinute === '' ? {} : { ratePerMinute: Number(perMinute) }),
    ...(percent === '' ? {} : { abort: { failurePercent: Number(percent), minimumSample: SAMPLE } }),
  };
  const make = (body: NewBatch) =>
    void act(() => ask('POST', '/api/batches', { body })).then((made) => {
      if (!made) return;
      // close first: the page of the batch may have to be loaded
      onClose();
      void navigate({ to: '/batches/$id', params: { id: made.id } });
    });
  return (
    <>
      <AssignDialog
        title="New batch"
        busy={busy || isCounting}
        wrong={whom === 'tags' && meant.length === 0}
        onClose={onClose}
        before={
          <>
            <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} />
            <Choice
              label="For"
              value={whom}
              onChange={(event) => setWhom(event.target.value)}
              options={[
                ['tags', 'devices that have tags'],
                ['all', 'every device'],
              ]}
            />
            {whom === 'tags' && (
              <Field
                label="Tags"
                required
                value={tags}
                onChange={(event) => setTags(event.target.value)}
                hint="Separated by commas: devices that have all of them."
              />
            )}
          </>
        }
        after={
          <div className="grid grid-cols-2 gap-3">
            <Field
              label="At most per minute"
              type="number"
              min={1}
              value={perMinute}
              onChange={(event) => setPerMinute(event.target.value)}
              hint="Empty: as fast as possible."
            />
            <Field
              label="Abort at % failed"
              type="number"
              min={0}
              max={100}
              step="any"
              value={percent}
              onChange={(event) => setPercent(event.target.value)}
              hint={`Of ${SAMPLE} or more that have ended. Empty: never.`}
            />
          </div>
        }
        onAssign={(action, kind) => {
          const body = batchOf(targets, action, { name: name.trim(), ...pace });
          void forMany({ targets, verb: 'Assign', kind, act: () => make(body) });
        }}
      />
      {dialog}
    </>
  );
}

/** A smaller sample says nothing about the rest. */
const SAMPLE = 20;
