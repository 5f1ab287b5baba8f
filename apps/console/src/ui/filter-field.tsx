import { Search } from 'lucide-react';
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { type Completion, completionsOf, type SeenValues } from '../words/completions.ts';
import type { FilterKeys } from '../words/filter-text.ts';
import { classes } from './classes.ts';

/**
 * The field of a filter, with completions below it. Arrows choose, Enter and Tab take, Escape closes; with nothing chosen, Enter
 * submits the form.
 */
export function FilterField(props: {
  text: string;
  onText: (text: string) => void;
  keys: FilterKeys;
  seen?: SeenValues | undefined;
  /** The id of the sentence that says what is wrong. */
  wrongId?: string | undefined;
}) {
  const { text, onText, keys, seen, wrongId } = props;
  const field = useRef<HTMLInputElement>(null);
  const [caret, setCaret] = useState<number>();
  const [at, setAt] = useState(-1);
  const id = useId();
  const offered = caret === undefined ? [] : completionsOf(text, Math.min(caret, text.length), keys, seen);
  const close = () => {
    setCaret(undefined);
    setAt(-1);
  };
  const open = () => {
    setCaret(field.current?.selectionStart ?? text.length);
    setAt(-1);
  };
  const take = (one: Completion) => {
    // the caret can only be placed once the text is there
    flushSync(() => onText(one.text));
    field.current?.focus();
    field.current?.setSelectionRange(one.caret, one.caret);
    if (one.word.endsWith(':')) open();
    else close();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = offered[at];
    if (step !== undefined) {
      event.preventDefault();
      if (caret === undefined) open();
      else if (offered.length > 0) setAt((at + step + offered.length) % offered.length);
    } else if (chosen && (event.key === 'Enter' || event.key === 'Tab')) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === 'Enter') close();
    else if (event.key === 'Escape' && offered.length > 0) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return (
    <div className="relative min-w-0 flex-1 basis-[200px]">
      <label>
        <span className="sr-only">Filter</span>
        <Search aria-hidden size={14} className="absolute top-1/2 left-3 -translate-y-1/2 text-ink-3" />
        <input
          ref={field}
          id="filter"
          role="combobox"
          aria-expanded={offered.length > 0}
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={offered[at] ? `${id}-${at}` : undefined}
          aria-invalid={wrongId !== undefined}
          aria-describedby={wrongId}
          value={text}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder={Object.keys(keys)
            .slice(0, 4)
            .map((key) => `${key}:`)
            .join(' ')}
          onChange={(event) => {
            onText(event.target.value);
            open();
          }}
          onKeyDown={press}
          onBlur={close}
          className="h-8 w-full pointer-coarse:h-touch rounded-control border border-control bg-surface pr-3 pl-8 font-mono text-table"
        />
      </label>
      <div
        id={id}
        role="listbox"
        aria-label="Matches"
        className={classes(
          'absolute inset-x-0 top-full z-30 mt-1 max-h-[260px] overflow-y-auto rounded-control border border-control bg-surface p-1',
          offered.length === 0 && 'hidden',
        )}
      >
        {offered.map((one, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and Enter takes it
          <div
            key={one.word}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === at}
            ref={(element) => {
              if (place === at) element?.scrollIntoView({ block: 'nearest' });
            }}
            // the focus stays in the field
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => take(one)}
            className={classes(
              'flex min-h-6 items-center rounded-badge px-2 font-mono text-table wrap-anywhere hover:bg-sunken pointer-coarse:min-h-touch',
              place === at && 'bg-sunken',
            )}
          >
            {one.word}
          </div>
        ))}
      </div>
    </div>
  );
}
