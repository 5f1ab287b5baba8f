import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { address } from '../page-address.ts';
import type { SeenValues } from '../words/completions.ts';
import { type FilterKeys, readFilter, unknownKey, writeFilter } from '../words/filter-text.ts';
import { Button } from './button.tsx';
import { FilterField } from './filter-field.tsx';

/** One field, `state:failed kind:UPDATE tag:batch:7`; the address has the same. An unknown key is refused in a sentence. */
export function FilterBar(props: {
  keys: FilterKeys;
  value: Readonly<Record<string, string | undefined>>;
  onChange: (value: Record<string, string | undefined>) => void;
  beside?: ReactNode;
  /** The key of words without one. */
  plain?: string;
  /** Other parameters of the page's address: its tab, its open row. */
  others?: readonly string[];
  /** Offered as values, besides the known values of a key. */
  seen?: SeenValues;
  /** The filtered rows. Hidden while the address has an unknown key: all rows would look like matches. */
  children?: ReactNode;
}) {
  const { keys, value, onChange, others = [], plain } = props;
  const written = writeFilter(value, keys, plain);
  const [text, setText] = useState(written);
  const [wrong, setWrong] = useState<string>();
  const id = useId();
  useEffect(() => setText(written), [written]);

  const unknown = unknownKey(address.useSearch(), keys, others);
  const apply = (next: string) => {
    const read = readFilter(next, keys, plain);
    if ('wrong' in read) {
      setWrong(read.wrong);
      return;
    }
    setWrong(undefined);
    onChange(read.filter);
  };
  const said = wrong ?? unknown;
  const set = Object.entries(value).filter(([key, one]) => key in keys && one !== undefined && one !== '');
  return (
    <>
      <search>
        <form
          className="flex flex-col gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            apply(text);
          }}
        >
          <div className="flex flex-wrap items-center gap-2">
            <FilterField
              text={text}
              onText={setText}
              keys={keys}
              seen={props.seen}
              wrongId={said ? `${id}-wrong` : undefined}
            />
            <Button type="submit">Filter</Button>
            {props.beside}
          </div>
          {said && (
            <p id={`${id}-wrong`} role="alert" className="text-table text-red-text">
              {said}
            </p>
          )}
          {set.length > 0 && (
            <ul aria-label="Filters" className="flex flex-wrap gap-2">
              {set.map(([key, one]) => (
                <li key={key}>
                  <button
                    type="button"
                    aria-label={`Remove ${key}:${one}`}
                    onClick={() => onChange({ ...value, [key]: undefined })}
                    className="inline-flex min-h-6 items-center gap-1 rounded-badge bg-sunken px-2 font-mono text-label text-ink-2 hover:text-ink"
                  >
                    {key}:{one}
                    <X aria-hidden size={12} />
                  </button>
                </li>
              ))}
            </ul>
          )}
        </form>
      </search>
      {unknown === undefined && props.children}
    </>
  );
}
