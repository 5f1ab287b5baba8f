import { useNow } from '../words/clock.ts';
import { exact, relative } from '../words/times.ts';
import { useZone } from '../words/zone.ts';

/** How long ago; the exact time with its zone on hover. */
export function Time({ at, form = 'relative' }: { at: string; form?: 'relative' | 'exact' }) {
  const [zone] = useZone();
  const now = useNow();
  const moment = Date.parse(at);
  const full = exact(moment, zone);
  return (
    <time dateTime={at} title={full} className="whitespace-nowrap">
      {form === 'exact' ? full : relative(moment, now, zone)}
    </time>
  );
}
