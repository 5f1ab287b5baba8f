import type { Overview, Problem, ProblemCode } from '@muster/contracts';
import { ChevronRight, CircleX, Hourglass, type LucideIcon, Pause, TriangleAlert } from 'lucide-react';
import type { Address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { classes } from '../../ui/classes.ts';
import { PageLink } from '../../ui/page-link.tsx';
import { Time } from '../../ui/time.tsx';
import { TONES, type Tone } from '../../ui/tones.ts';
import { count } from '../../words/numbers.ts';

interface Look {
  readonly icon: LucideIcon;
  readonly tone: Tone;
  readonly title: (problem: Problem) => string;
  readonly to: (problem: Problem) => Address;
}

const many = (problem: Problem, one: string, more = `${one}s`) =>
  `${count(problem.count)}${problem.more ? ' or more' : ''} ${problem.count === 1 ? one : more}`;

/** Each problem: what it is called, and the page that shows exactly what it counts. */
const LOOKS: Readonly<Record<ProblemCode, Look>> = {
  DEAD_LETTERS: {
    icon: CircleX,
    tone: 'red',
    title: (p) => many(p, 'dead letter'),
    to: () => ({ to: '/dead-letters' }),
  },
  DEVICES_IN_ERROR: {
    icon: TriangleAlert,
    tone: 'red',
    title: (p) => `${many(p, 'device')} in error`,
    to: () => ({ to: '/targets', search: { type: 'devices', state: 'error' } }),
  },
  OLDEST_WAITING: {
    icon: Hourglass,
    tone: 'plum',
    title: () => 'Oldest waiting',
    to: (p) =>
      p.example
        ? { to: '/actions/$id', params: { id: p.example.id } }
        : { to: '/actions', search: { state: 'unfinished' } },
  },
  ALL_PAUSED: {
    icon: Pause,
    tone: 'amber',
    title: () => 'Everything is paused',
    to: () => ({ to: '/settings' }),
  },
  TAGS_PAUSED: {
    icon: Pause,
    tone: 'amber',
    title: (p) => `${many(p, 'tag')} paused`,
    to: (p) => ({
      to: '/actions',
      search: { state: 'unfinished', ...(p.example ? { tag: p.example.name ?? p.example.id } : {}) },
    }),
  },
};

/** What is wrong, the worst first; a page without problems says so in one line. */
export function Problems({ overview }: { overview: Overview }) {
  return (
    <Card
      flush
      title="Needs attention"
      aside={
        <>
          as of <Time at={overview.at} />
        </>
      }
    >
      {overview.problems.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">
          Nothing is wrong: no dead letters, nothing in error, nothing paused.
        </p>
      ) : (
        <ul>
          {overview.problems.map((problem) => (
            <li key={problem.code} className="border-b last:border-b-0">
              <Line problem={problem} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Line({ problem }: { problem: Problem }) {
  const { icon: Icon, title, to, tone } = LOOKS[problem.code];
  return (
    <PageLink
      {...to(problem)}
      className="grid min-h-touch grid-cols-[16px_1fr_16px] items-center gap-x-3 gap-y-hair px-4 py-2 hover:bg-sunken md:grid-cols-[16px_220px_1fr_max-content_16px]"
    >
      <Icon aria-hidden size={16} className={TONES[tone].text} />
      <span className="font-medium">{title(problem)}</span>
      <span
        className={classes(
          'col-span-3 col-start-2 row-start-2 min-w-0 break-words text-ink-2',
          'md:col-span-1 md:col-start-3 md:row-start-1',
        )}
      >
        {problem.text}
      </span>
      <span className="col-start-2 row-start-3 text-label text-ink-3 md:col-start-4 md:row-start-1">
        {problem.since && (
          <>
            since <Time at={problem.since} />
          </>
        )}
      </span>
      <ChevronRight aria-hidden size={16} className="col-start-3 row-start-1 text-ink-3 md:col-start-5" />
    </PageLink>
  );
}
