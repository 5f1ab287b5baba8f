import type { Batch } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';

/** Pause and resume at once, with an undo. */
export function PauseBatch({ batch }: { batch: Batch }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const { id, status } = batch;
  if (!may || !['paused', 'running', 'supplying'].includes(status)) return null;
  const resume = () =>
    void act(() => ask('POST', '/api/batches/:id/resume', { params: { id } }), { text: 'Batch resumed.' });
  const pause = () =>
    void act(() => ask('POST', '/api/batches/:id/pause', { params: { id } }), {
      text: 'The batch is paused: nothing more of it is handed out.',
      undo: { word: 'Undo', act: resume },
    });
  return status === 'paused' ? (
    <Button disabled={busy} look="first" onClick={resume}>
      Resume
    </Button>
  ) : (
    <Button disabled={busy} onClick={pause}>
      Pause
    </Button>
  );
}
