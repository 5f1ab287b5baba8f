import { Pause } from 'lucide-react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useApi } from '../../api/use-api.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Time } from '../../ui/time.tsx';

/** What a person has paused, with the button that ends it. Nothing is paused: nothing is drawn. */
export function Pauses() {
  const { data } = useApi('/api/pauses', {}, { everyMs: 2_000 });
  const { act, busy } = useAct();
  const may = useMay('operator');
  if (!data || data.pauses.length === 0) return null;
  return (
    <ul className="rounded-card border border-amber-fill bg-surface">
      {data.pauses.map(({ pausedAt, tag }) => {
        const body = tag === null ? {} : { tag };
        const name = tag === null ? 'Everything' : `Tag ${tag}`;
        return (
          <li
            key={tag ?? ''}
            className="flex min-h-touch flex-wrap items-center gap-3 border-b px-4 py-1 last:border-b-0"
          >
            <Pause aria-hidden size={14} className="text-amber-text" />
            <span className="flex-1">
              {name} {tag === null ? 'is' : 'is'} paused, <Time at={pausedAt} />
            </span>
            {may && (
              <Button
                disabled={busy}
                onClick={() =>
                  void act(() => ask('POST', '/api/resume', { body }), {
                    text: `${name} is handed out again.`,
                    undo: { word: 'Undo', act: () => void act(() => ask('POST', '/api/pause', { body })) },
                  })
                }
              >
                Resume
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
