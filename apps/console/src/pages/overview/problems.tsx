import type { Overview, Pauses, Problem } from '@muster/contracts';
import {
  BellOff,
  CalendarX,
  ChevronRight,
  CircleX,
  Hourglass,
  type LucideIcon,
  OctagonX,
  TriangleAlert,
} from 'lucide-react';
import type { Address, PagePath } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { classes } from '../../ui/classes.ts';
import { PageLink } from '../../ui/page-link.tsx';
import { Time } from '../../ui/time.tsx';
import { TONES, type Tone } from '../../ui/tones.ts';
import { endingOf } from '../../words/endings.ts';
import { count } from '../../words/numbers.ts';
import { timesIn } from '../../words/times-in.ts';
import { PauseLine } from './pause-line.tsx';

interface Look {
  readonly icon: LucideIcon;
  readonly tone: Tone;
  readonly title: (problem: Problem) => string;
  readonly to: (problem: Problem) => Address;
}

const many = (problem: Problem, one: string, more = `${one}s`) =>
  `${count(problem.count)}${problem.more ? ' or more' : ''} ${problem.count === 1 ? one : more}`;

/** Each problem: its name, and the page that shows exactly what it counts. */
const LOOKS: Readonly<Record<string, Look>> = {
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
  BATCHES_ABORTED: {
    icon: OctagonX,
    tone: 'red',
    title: (p) => `${many(p, 'batch', 'batches')} aborted`,
    to: (p) =>
      p.count === 1 && p.example ? { to: '/batches/$id', params: { id: p.example.id } } : { to: '/batches' },
  },
  PUSHES_STOPPED: {
    icon: BellOff,
    tone: 'red',
    title: () => 'Pushes are stopped',
    to: () => ({ to: '/phones' }),
  },
  PUSH_CERTIFICATES_END: {
    icon: Hourglass,
    tone: 'plum',
    title: (p) => `${many(p, 'push certificate')} ${p.count === 1 ? 'expires' : 'expire'} soon`,
    to: () => ({ to: '/phones' }),
  },
  RUNS_MISSED: {
    icon: CalendarX,
    tone: 'amber',
    title: (p) => `${many(p, 'run')} missed`,
    to: (p) => (p.example ? { to: '/workflows/$id', params: { id: p.example.id } } : { to: '/workflows' }),
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
  WEBHOOKS_PAUSED: {
    icon: OctagonX,
    tone: 'red',
    title: (p) => `${many(p, 'webhook')} paused`,
    to: () => ({ to: '/webhooks' }),
  },
};

/** A problem that this page does not know: its code, and the page of its example. */
const OTHER: Look = {
  icon: TriangleAlert,
  tone: 'red',
  title: (p) => `${count(p.count)} ${p.code.toLowerCase().replaceAll('_', ' ')}`,
  to: ({ example }) => {
    const page = PAGES.find(([type]) => type === example?.type);
    return page && example ? { to: page[1], params: { id: example.id } } : { to: '/' };
  },
};
const PAGES: readonly (readonly [type: string, page: PagePath])[] = [
  ['action', '/actions/$id'],
  ['device', '/devices/$id'],
  ['host', '/hosts/$id'],
  ['batch', '/batches/$id'],
  ['workflow', '/workflows/$id'],
  ['webhook', '/webhooks/$id'],
  ['phone', '/phones/$id'],
];

/** The problems, worst first; without any, one line says so. */
export function Problems({ overview, pauses }: { overview: Overview; pauses: Pauses['pauses'] }) {
  return (
    <Card
      flush
      title="Needs attention"
      aside={
        <span>
          as of <Time at={overview.at} />
        </span>
      }
    >
      {overview.problems.length + pauses.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">
          Nothing is wrong: no dead letters, nothing in error, nothing paused.
        </p>
      ) : (
        <ul>
          {overview.problems
            // each has its own line below, with its button
            .filter(({ code }) => code !== 'ALL_PAUSED' && code !== 'TAGS_PAUSED')
            .map((problem) => (
              <li data-row key={problem.code} className="border-b last:border-b-0">
                <Line problem={problem} />
              </li>
            ))}
          {pauses.map((pause) => (
            <li data-row key={pause.tag ?? ''} className="border-b last:border-b-0">
              <PauseLine pause={pause} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Line({ problem }: { problem: Problem }) {
  const { icon: Icon, title, to, tone } = LOOKS[problem.code] ?? OTHER;
  return (
    <PageLink
      {...to(problem)}
      className="grid min-h-touch grid-cols-[16px_1fr_16px] items-center gap-x-3 gap-y-hair px-4 py-2 hover:bg-sunken md:grid-cols-[16px_220px_1fr_max-content_16px]"
    >
      <Icon aria-hidden size={16} className={TONES[tone].text} />
      <span className="font-medium">{title(problem)}</span>
      <span
        className={classes(
          'col-span-2 col-start-2 row-start-2 min-w-0 wrap-anywhere text-ink-2',
          'md:col-span-1 md:col-start-3 md:row-start-1',
        )}
      >
        {timesIn(textOf(problem)).map((part, place) => {
          const key = `${place}`;
          return 'at' in part ? (
            <Time key={key} at={part.at} form="moment" />
          ) : (
            <span key={key}>{part.text}</span>
          );
        })}
      </span>
      <span className="col-start-2 row-start-3 text-label text-ink-3 md:col-start-4 md:row-start-1">
        {problem.since && (
          <>
            since <Time at={problem.since} form="moment" />
          </>
        )}
      </span>
      <ChevronRight aria-hidden size={16} className="col-start-3 row-start-1 text-ink-3 md:col-start-5" />
    </PageLink>
  );
}

/** The example of the dead letters ends with the error, or with the server's code for it as a sentence. */
function textOf({ code, text }: Problem): string {
  if (code !== 'DEAD_LETTERS') return text;
  return text.replace(/: (\w+)$/, (_, said: string) => `: ${endingOf(said)}`);
}
