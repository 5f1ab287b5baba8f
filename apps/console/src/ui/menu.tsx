import { Ellipsis } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { buttonClasses } from './button.tsx';
import { classes } from './classes.ts';

export interface MenuItem {
  readonly word: string;
  readonly act: () => void;
  readonly danger?: boolean;
}

/** Less common acts: arrows move, Escape and a click outside close, and the focus returns to the button. */
export function Menu(props: {
  items: readonly MenuItem[];
  label?: string;
  small?: boolean;
  up?: boolean;
  children?: ReactNode;
}) {
  const { items, label = 'More', small, up } = props;
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  const places = () => [...(box.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    box.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [isOpen]);

  const move = (event: KeyboardEvent) => {
    const all = places();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') setOpen(false);
    else if (to !== undefined) all[to]?.focus();
    if (event.key === 'Escape' || to !== undefined) event.preventDefault();
  };
  if (items.length === 0) return null;
  return (
    <div ref={box} className="relative">
      <button
        ref={button}
        type="button"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
        className={
          small
            ? 'inline-flex size-6 items-center justify-center rounded-control text-ink-2 hover:bg-sunken'
            : buttonClasses()
        }
      >
        {props.children ?? <Ellipsis aria-hidden size={16} />}
      </button>
      {isOpen && (
        <div
          id={id}
          role="menu"
          aria-label={label}
          tabIndex={-1}
          onKeyDown={move}
          className={classes(
            'absolute z-50 min-w-[180px] rounded-control border border-control bg-surface py-1',
            up ? 'bottom-full left-0 mb-1' : 'top-full right-0 mt-1',
          )}
        >
          {items.map(({ act, danger, word }) => (
            <button
              key={word}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close();
                act();
              }}
              className={classes(
                'flex h-8 pointer-coarse:h-touch w-full items-center px-3 text-table whitespace-nowrap outline-none hover:bg-sunken focus:bg-sunken',
                danger && 'text-red-text',
              )}
            >
              {word}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
