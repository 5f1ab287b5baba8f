import { useNow } from '../words/clock.ts';
import { day, exact, moment, relative } from '../words/times.ts';
import { useZone } from '../words/zone.ts';

/** How long ago; the exact time with its zone on hover. */
export function Time({
  at,
  form = 'relative',
}: {
  at: string;
  form?: 'relative' | 'exact' | 'day' | 'moment';
}) {
  const [zone] = useZone();
  const now = useNow();
  const then = Date.parse(at);
  const full = exact(then, zone);
  const said = {
    relative: () => relative(then, now, zone),
    exact: () => full,
    day: () => day(then, zone),
    moment: () => moment(then, now, zone),
  } as const;
  return (
    <time dateTime={at} title={full} className={form === 'exact' ? '' : 'whitespace-nowrap'}>
      {said[form]()}
    </time>
  );
}
