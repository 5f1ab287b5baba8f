import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { classes } from './classes.ts';

/** A labelled control, with its hint below. */
const LOOK =
  'w-full rounded-control border border-control bg-surface px-3 text-body text-ink disabled:opacity-60';

export function Field({
  label,
  hint,
  ...input
}: InputHTMLAttributes<HTMLInputElement> & { label: string; hint?: ReactNode }) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...input}
        className={classes(LOOK, 'h-8 pointer-coarse:h-touch', input.className)}
      />
    </Labelled>
  );
}

export function TextArea({
  label,
  hint,
  ...area
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { label: string; hint?: ReactNode }) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <textarea
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...area}
        className={classes(LOOK, 'py-2 font-mono text-table', area.className)}
      />
    </Labelled>
  );
}

/** On or off, with its words beside it. */
export function CheckBox({
  label,
  hint,
  ...input
}: Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> & { label: string; hint?: string }) {
  return (
    <label className="flex min-h-6 flex-wrap items-center gap-2 text-table" title={hint}>
      <input type="checkbox" className="size-4 accent-ink" {...input} />
      {label}
    </label>
  );
}

export function Choice({
  label,
  hint,
  options,
  ...select
}: SelectHTMLAttributes<HTMLSelectElement> & {
  label: string;
  hint?: ReactNode;
  options: readonly (readonly [value: string, word: string])[];
}) {
  const id = useId();
  return (
    <Labelled id={id} label={label} hint={hint}>
      <select
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...select}
        className={classes(LOOK, 'h-8 pointer-coarse:h-touch', select.className)}
      >
        {options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

function Labelled({
  id,
  label,
  hint,
  children,
}: {
  id: string;
  label: string;
  hint: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-label font-medium text-ink-2">
        {label}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="text-label text-ink-3">
          {hint}
        </p>
      )}
    </div>
  );
}
