import { OctagonX, Pause, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { classes } from './classes.ts';
import { TONES } from './tones.ts';

const ICONS = { red: OctagonX, amber: Pause, plum: TriangleAlert } as const;

/** What holds up the subject of this page, in a sentence above everything else. */
export function Notice({
  tone,
  title,
  children,
}: {
  tone: keyof typeof ICONS;
  title: string;
  children: ReactNode;
}) {
  const Icon = ICONS[tone];
  return (
    <div
      className={classes(
        'flex items-start gap-3 rounded-card border bg-surface px-4 py-3',
        TONES[tone].border,
      )}
    >
      <Icon aria-hidden size={16} className={classes('mt-hair shrink-0', TONES[tone].text)} />
      <p className="min-w-0 wrap-anywhere">
        <span className={classes('font-medium', TONES[tone].text)}>{title}: </span>
        {children}
      </p>
    </div>
  );
}
