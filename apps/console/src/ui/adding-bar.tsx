import type { Address } from '../page-address.ts';
import { count } from '../words/numbers.ts';
import { classes } from './classes.ts';
import { PageLink } from './page-link.tsx';
import { TONES, type Tone } from './tones.ts';

export interface Segment {
  readonly word: string;
  readonly value: number;
  readonly tone: Tone;
  /** Not there yet: only an outline. */
  readonly outline?: boolean;
  /** The rows that it counts. */
  readonly to?: Address;
}

/** A bar whose parts add up, with the sum in words below: 612 done + 9 failed + 93 pending = 714. */
export function AddingBar({
  segments,
  total,
  label,
}: {
  segments: readonly Segment[];
  total: number;
  label: string;
}) {
  const there = segments.filter(({ value }) => value > 0);
  return (
    <div>
      <div
        role="img"
        aria-label={label}
        className="flex h-3 gap-hair overflow-hidden rounded-badge bg-sunken"
      >
        {there.map(({ outline, tone, value, word }) => (
          <span
            key={word}
            className={classes('min-w-1', outline ? `border ${TONES[tone].border}` : TONES[tone].fill)}
            style={{ flexGrow: value, flexBasis: 0 }}
          />
        ))}
      </div>
      <p className="mt-2 flex flex-wrap items-center gap-x-1 gap-y-hair text-table text-ink-2">
        {there.map((segment, place) => (
          <span key={segment.word} className="inline-flex items-center gap-1">
            {place > 0 && <span aria-hidden>+</span>}
            <Part {...segment} />
          </span>
        ))}
        {there.length === 0 && <span>0</span>}
        <span>= {count(total)}</span>
      </p>
    </div>
  );
}

function Part({ outline, to, tone, value, word }: Segment) {
  const said = (
    <>
      <span
        aria-hidden
        className={classes(
          'inline-block size-2 rounded-[2px]',
          outline ? `border ${TONES[tone].border}` : TONES[tone].fill,
        )}
      />
      {count(value)} {word}
    </>
  );
  const look = 'inline-flex items-center gap-1 min-h-6';
  return to ? (
    <PageLink
      {...to}
      className={classes(look, 'underline decoration-line underline-offset-2 hover:decoration-ink')}
    >
      {said}
    </PageLink>
  ) : (
    <span className={look}>{said}</span>
  );
}
