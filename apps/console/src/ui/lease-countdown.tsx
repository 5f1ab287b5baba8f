import { useNow } from '../words/clock.ts';
import { countdown } from '../words/times.ts';
import { classes } from './classes.ts';

/** How long the lease still lasts, as a bar and a time. At zero the server decides, not this page. */
export function LeaseCountdown({ from, until }: { from: string; until: string }) {
  const now = useNow();
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const left = end - now;
  const part = Math.min(1, Math.max(0, left / Math.max(1, end - start)));
  const isLast = part <= 0.1;
  if (left <= 0)
    return <span className="text-label text-amber-text">lease ended, waiting for the server</span>;
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span aria-hidden className="h-1 w-12 overflow-hidden rounded-round bg-sunken">
        <span
          className={classes('block h-full origin-left', isLast ? 'bg-amber-fill' : 'bg-blue-fill')}
          style={{ transform: `scaleX(${part})` }}
        />
      </span>
      <span className={classes('text-label', isLast ? 'text-amber-text' : 'text-blue-text')}>
        {countdown(left)}
      </span>
    </span>
  );
}
