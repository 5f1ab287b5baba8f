import type { Pauses } from '@muster/contracts';
import { Pause } from 'lucide-react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { batchOf } from '../../words/reasons.ts';

/** A pause: what, by whom, since when, and the button that ends it. */
export function PauseLine({ pause }: { pause: Pauses['pauses'][number] }) {
  const { act, busy } = useAct();
  const { pausedAt, pausedBy, tag } = pause;
  const id = batchOf(tag);
  const may = useMay(id === undefined ? 'admin' : 'operator');
  const body = tag === null ? {} : { tag };
  const name = tag === null ? 'Everything' : id === undefined ? `Tag ${tag}` : `Batch ${id}`;
  const set = (verb: 'pause' | 'resume'): Promise<unknown> =>
    id === undefined
      ? ask('POST', `/api/${verb}`, { body })
      : ask('POST', `/api/batches/:id/${verb}`, { params: { id } });
  const resume = () =>
    void act(() => set('resume'), {
      text: `${name} resumed.`,
      undo: { word: 'Undo', act: () => void act(() => set('pause')) },
    });
  return (
    <div className="grid min-h-touch grid-cols-[16px_1fr_max-content] items-center gap-x-3 px-4 py-1 md:grid-cols-[16px_220px_1fr_max-content]">
      <Pause aria-hidden size={16} className="text-amber-text" />
      <span className="font-medium">
        {tag === null ? (
          'Everything is paused'
        ) : (
          <>
            {id === undefined ? (
              <TextLink to="/actions" search={{ state: 'unfinished', tag }}>
                {name}
              </TextLink>
            ) : (
              <TextLink to="/batches/$id" params={{ id }}>
                {name}
              </TextLink>
            )}{' '}
            is paused
          </>
        )}
      </span>
      <span className="col-start-2 row-start-2 text-ink-2 md:col-start-3 md:row-start-1">
        {pausedBy && `by ${pausedBy}, `}since <Time at={pausedAt} form="moment" />
      </span>
      {may && (
        <span className="col-start-3 row-span-2 row-start-1 md:col-start-4 md:row-span-1">
          <Button disabled={busy} onClick={resume} aria-label={`Resume ${name.toLowerCase()}`}>
            Resume
          </Button>
        </span>
      )}
    </div>
  );
}
