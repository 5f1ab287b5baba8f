import { Badge } from '../../ui/badge.tsx';
import { Time } from '../../ui/time.tsx';
import type { Tone } from '../../ui/tones.ts';
import { useNow } from '../../words/clock.ts';
import { endingOf, isCode } from '../../words/endings.ts';
import { clock, duration } from '../../words/times.ts';
import { useZone } from '../../words/zone.ts';
import type { Attempt } from './attempts.ts';

const TONE: Readonly<Record<string, Tone>> = {
  SUCCEEDED: 'green',
  FAILED: 'red',
  FAILED_FINAL: 'red',
  TIMEOUT: 'red',
  NOT_NOW: 'plum',
  RELEASED: 'plum',
  EXPIRED: 'plum',
  CANCELLED: 'slate',
  SUPERSEDED: 'slate',
};

/** One attempt: its worker, its duration, its result, and every step. */
export function AttemptBlock({ attempt }: { attempt: Attempt }) {
  const [zone] = useZone();
  const now = useNow();
  const { attempt: number, ending, events, from, to, worker } = attempt;
  const took = (to ? Date.parse(to) : now) - Date.parse(from);
  const name = number === 0 ? 'Before the first attempt' : `Attempt ${number}`;
  return (
    <li className="border-b px-4 py-3 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-medium">{name}</h3>
        <span className="text-table text-ink-3">
          <Time at={from} form="exact" />
          {number > 0 && ` · ${duration(took)}`}
          {worker && ` · ${worker}`}
        </span>
        {number > 0 &&
          (ending ? (
            <Badge
              tone={TONE[ending.type] ?? 'slate'}
              word={ending.type.toLowerCase().replaceAll('_', ' ')}
            />
          ) : (
            <Badge tone="blue" word="running" />
          ))}
      </div>
      {ending?.reason && (
        <p className="mt-1 wrap-anywhere">
          {isCode(ending.reason) ? endingOf(ending.reason, 'attempt') : `“${ending.reason}”`}
        </p>
      )}
      <ol className="mt-2 flex flex-wrap gap-x-3 gap-y-1 text-label text-ink-2">
        {events.map((event) => (
          <li key={`${event.type}-${event.at}`} className="whitespace-nowrap">
            <span className="font-medium">{event.type}</span>{' '}
            <time dateTime={event.at} className="text-ink-3">
              {clock(Date.parse(event.at), zone)}
            </time>
          </li>
        ))}
      </ol>
    </li>
  );
}
