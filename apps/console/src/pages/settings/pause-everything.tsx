import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useApi } from '../../api/use-api.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';

/** Stops hand-outs, of everything or of a tag. */
export function PauseEverything() {
  const { data } = useApi('/api/pauses', {}, { everyMs: 2_000 });
  const { act, busy } = useAct();
  const may = useMay('admin');
  const [asked, setAsked] = useState<Confirmation>();
  if (!data) return null;
  const isPaused = data.pauses.some(({ tag }) => tag === null);
  const resume = () => act(() => ask('POST', '/api/resume', { body: {} }), { text: 'Everything resumed.' });
  const pause = () =>
    setAsked({
      title: 'Pause everything?',
      about: 'Nothing more is handed out in this tenant until it is resumed. What is running continues.',
      verb: 'Pause everything',
      danger: true,
      typed: 'everything',
      act: () =>
        void act(() => ask('POST', '/api/pause', { body: {} }), {
          text: 'Everything is paused.',
          undo: { word: 'Undo', act: () => void resume() },
        }),
    });
  return (
    <Card title="Handing out">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p>{isPaused ? 'Everything is paused.' : 'Actions are handed out.'}</p>
        {may &&
          (isPaused ? (
            <Button look="first" disabled={busy} onClick={() => void resume()}>
              Resume everything
            </Button>
          ) : (
            <Button look="danger" disabled={busy} onClick={pause}>
              Pause everything …
            </Button>
          ))}
      </div>
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </Card>
  );
}
