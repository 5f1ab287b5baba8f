import type { Pc } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

/** How many devices a PC works on at once. Running ones continue: fewer slots are reached as devices end. */
export function SlotsDialog({ pc, onClose }: { pc: Pc; onClose: () => void }) {
  const { act, busy } = useAct();
  const [slots, setSlots] = useState(String(pc.slots));
  const wanted = Number(slots);
  const isReady = Number.isInteger(wanted) && wanted >= 1;
  const set = (value: number) =>
    ask('PATCH', '/api/pcs/:id', { params: { id: pc.id }, body: { slots: value } });
  const change = async () => {
    const done = await act(() => set(wanted), {
      text: `${pc.name} has ${wanted} slots.`,
      undo: { word: 'Undo', act: () => void act(() => set(pc.slots)) },
    });
    if (done) onClose();
  };
  return (
    <FormDialog
      title={`Slots of ${pc.name}`}
      about="This many devices run at once. What is running continues."
      verb="Change"
      busy={busy}
      wrong={!isReady}
      onClose={onClose}
      onDone={() => void change()}
    >
      <Field
        label="Slots"
        type="number"
        min={1}
        required
        value={slots}
        onChange={(event) => setSlots(event.target.value)}
      />
    </FormDialog>
  );
}
