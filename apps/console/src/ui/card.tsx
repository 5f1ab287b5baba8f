import type { ReactNode } from 'react';
import { classes } from './classes.ts';

/** A bordered surface with a heading. */
export function Card(props: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  flush?: boolean;
  className?: string;
}) {
  return (
    <section className={classes('min-w-0 rounded-card border bg-surface', props.className)}>
      {(props.title || props.aside) && (
        <header className="flex min-h-touch flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b px-4 py-1">
          <h2 className="text-body font-semibold">{props.title}</h2>
          {props.aside && <div className="flex items-center gap-2 text-label text-ink-3">{props.aside}</div>}
        </header>
      )}
      <div className={props.flush ? '' : 'p-4'}>{props.children}</div>
    </section>
  );
}
