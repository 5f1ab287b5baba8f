import type { Found } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useDeferredValue, useId, useMemo, useState } from 'react';
import { useApi } from '../api/use-api.ts';
import type { Address } from '../page-address.ts';
import { useMay } from '../session/session.tsx';
import { classes } from '../ui/classes.ts';
import { Dialog } from '../ui/dialog.tsx';
import { PAGES } from './pages.ts';
import { actsOfPage } from './pressing.ts';

interface Choice {
  readonly key: string;
  readonly group: string;
  readonly word: string;
  readonly detail?: string | undefined;
  readonly choose: () => void;
}

/** The page of a search result. */
const SHOWN: Readonly<Record<Found['type'], (found: Found) => Address>> = {
  action: ({ id }) => ({ to: '/actions/$id', params: { id } }),
  device: ({ id }) => ({ to: '/devices/$id', params: { id } }),
  host: ({ id }) => ({ to: '/hosts/$id', params: { id } }),
  pc: ({ id }) => ({ to: '/tasks', search: { pc: id } }),
  task: ({ id }) => ({ to: '/tasks/$id', params: { id } }),
  batch: ({ id }) => ({ to: '/batches/$id', params: { id } }),
  workflow: ({ id }) => ({ to: '/workflows/$id', params: { id } }),
};

/** Pages, ids, names and the acts of this page, by typing: 4718 opens it. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [acts] = useState(actsOfPage);
  const isAdmin = useMay('admin');
  const q = useDeferredValue(text.trim());
  const { data } = useApi('/api/search', { query: { q } }, { enabled: q !== '', keep: true });
  const id = useId();
  const choices = useMemo(() => {
    const go = (to: Address) => () => {
      onClose();
      void navigate(to as { to: string });
    };
    const fits = (word: string) => word.toLowerCase().includes(text.trim().toLowerCase());
    return [
      ...firstOf(text.trim(), data?.found ?? []).map(
        (one): Choice => ({
          key: `${one.type} ${one.id}`,
          group: 'Found',
          word: one.name,
          detail: [one.type, one.id, one.detail].filter(Boolean).join(' · '),
          choose: go(SHOWN[one.type](one)),
        }),
      ),
      // the server searches by the start of a name, the filter of the list by any part
      ...(q !== '' && data !== undefined && !data.found.some(({ type }) => type === 'device')
        ? [
            {
              key: 'devices with',
              group: 'Found',
              word: `Devices with “${q}” in their name`,
              choose: go({ to: '/targets', search: { type: 'devices', text: q } }),
            },
          ]
        : []),
      ...acts
        .filter(({ word }) => fits(word))
        .map(({ act, word }): Choice => {
          const choose = () => {
            onClose();
            // the dialog gives the focus back first
            setTimeout(act);
          };
          return { key: `act ${word}`, group: 'On this page', word, choose };
        }),
      ...PAGES.filter(({ word, forAdmins }) => fits(word) && (isAdmin || !forAdmins)).map(
        ({ to, word }): Choice => ({ key: `page ${word}`, group: 'Pages', word, choose: go({ to }) }),
      ),
    ];
  }, [acts, data, isAdmin, navigate, onClose, q, text]);
  const active = Math.min(at, choices.length - 1);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      setAt((active + step + choices.length) % Math.max(1, choices.length));
      event.preventDefault();
    } else if (event.key === 'Enter') {
      choices[active]?.choose();
      event.preventDefault();
    }
  };
  return (
    <Dialog open onClose={onClose} title="Find a page, an id, a name or a command">
      <input
        role="combobox"
        aria-label="Page, id, name or command"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={choices[active] ? `${id}-${active}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        value={text}
        placeholder="4718, Tablet 0007, SN-12, dead letters …"
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={move}
        className="h-8 w-full pointer-coarse:h-touch rounded-control border border-control bg-surface px-3"
      />
      <div id={id} role="listbox" aria-label="Matches" className="-mx-2 h-[320px] overflow-y-auto">
        {choices.map((choice, place) => (
          <div key={choice.key}>
            {choices[place - 1]?.group !== choice.group && (
              <div role="presentation" className="px-2 pt-2 pb-1 text-label text-ink-3">
                {choice.group}
              </div>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and Enter chooses */}
            <div
              id={`${id}-${place}`}
              role="option"
              tabIndex={-1}
              aria-selected={place === active}
              ref={(element) => {
                if (place === active) element?.scrollIntoView({ block: 'nearest' });
              }}
              onClick={choice.choose}
              onPointerMove={() => setAt(place)}
              className={classes(
                'flex min-h-8 items-center justify-between gap-3 rounded-control px-2 pointer-coarse:min-h-touch',
                place === active && 'bg-sunken',
              )}
            >
              <span className="truncate font-medium">{choice.word}</span>
              <span className="shrink-0 text-label text-ink-3">{choice.detail}</span>
            </div>
          </div>
        ))}
        {choices.length === 0 && <p className="px-2 py-3 text-ink-2">Nothing matches “{text}”.</p>}
      </div>
    </Dialog>
  );
}

/** A number is most likely the id of an action. */
function firstOf(text: string, found: readonly Found[]): readonly Found[] {
  if (text === '') return [];
  const isMeant = (one: Found) => one.type === 'action' && one.id === text;
  return [...found.filter(isMeant), ...found.filter((one) => !isMeant(one))];
}
