import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { CheckBox, Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { serverNow } from '../../words/clock.ts';
import { counted } from '../../words/numbers.ts';
import { fieldTime, readFieldTime } from '../../words/times.ts';
import { useZone } from '../../words/zone.ts';

const HOUR_MS = 3_600_000;

/** Replays a time range, 500 deliveries per request, and shows the progress. */
export function ReplayDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const { act, busy } = useAct();
  const [zone] = useZone();
  const [from, setFrom] = useState(() => fieldTime(serverNow() - HOUR_MS, zone));
  const [to, setTo] = useState(() => fieldTime(serverNow(), zone));
  const [failed, setFailed] = useState(true);
  const [sent, setSent] = useState(0);
  const [start, end] = [readFieldTime(from, zone), readFieldTime(to, zone)];
  const isReady = start !== undefined && end !== undefined && start < end;
  const replay = async () => {
    if (start === undefined || end === undefined) return;
    const range = { from: new Date(start).toISOString(), to: new Date(end).toISOString(), failed };
    const done = await act(
      async () => {
        let all = 0;
        let cursor: string | null = null;
        do {
          const page: { replayed: number; cursor: string | null } = await ask(
            'POST',
            '/api/webhooks/:id/replay',
            {
              params: { id },
              body: { ...range, ...(cursor === null ? {} : { cursor }) },
            },
          );
          all += page.replayed;
          cursor = page.cursor;
          setSent(all);
        } while (cursor !== null);
        return all;
      },
      (all) => ({ text: `${counted(all, 'delivery', 'deliveries')} queued again, behind what waits.` }),
    );
    if (done !== undefined) onClose();
  };
  return (
    <FormDialog
      title={`Replay to ${name}`}
      about="The events of this time range are sent again with their ids, after waiting deliveries."
      verb="Replay"
      busy={busy}
      wrong={!isReady}
      onClose={onClose}
      onDone={() => void replay()}
    >
      <div className="grid gap-3 min-[420px]:grid-cols-2">
        <Field
          label={`From (${zone === 'utc' ? 'UTC' : 'local time'})`}
          type="datetime-local"
          step={1}
          required
          value={from}
          onChange={(event) => setFrom(event.target.value)}
        />
        <Field
          label="Before"
          type="datetime-local"
          step={1}
          required
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
      </div>
      <CheckBox
        label="Only those that were never accepted"
        checked={failed}
        onChange={(event) => setFailed(event.target.checked)}
      />
      {busy && sent > 0 && (
        <p className="text-label text-ink-3">{counted(sent, 'delivery', 'deliveries')} so far</p>
      )}
    </FormDialog>
  );
}
