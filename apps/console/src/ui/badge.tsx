import type { LucideIcon } from 'lucide-react';
import { classes } from './classes.ts';
import { TONES, type Tone } from './tones.ts';

/** A word with its icon on a tint. */
export function Badge({ icon: Icon, tone, word }: { icon?: LucideIcon; tone: Tone; word: string }) {
  const { text, tint } = TONES[tone];
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1 rounded-badge px-2 py-hair text-label font-medium whitespace-nowrap',
        text,
        tint,
      )}
    >
      {Icon && <Icon aria-hidden size={12} strokeWidth={2.25} />}
      {word}
    </span>
  );
}
