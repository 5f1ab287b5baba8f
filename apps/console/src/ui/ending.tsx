import { useNow } from '../words/clock.ts';
import { classes } from './classes.ts';
import { Time } from './time.tsx';

const DAY_MS = 86_400_000;

/** When a certificate expires: red when it has, plum in its last 30 days. */
export function Ending({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return <span className="text-ink-3">unknown</span>;
  const left = Date.parse(at) - now;
  const days = Math.floor(left / DAY_MS);
  return (
    <span className={classes(left <= 0 ? 'text-red-text' : days < 30 ? 'text-plum-text' : 'text-ink-2')}>
      {left <= 0 ? 'ended ' : days < 30 ? `in ${days} d, ` : ''}
      <Time at={at} form="day" />
    </span>
  );
}
