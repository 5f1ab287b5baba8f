import { useEffect, useRef } from 'react';
import { STATES, stateOf } from '../words/states.ts';
import { classes } from './classes.ts';
import { LeaseCountdown } from './lease-countdown.tsx';
import { PageLink } from './page-link.tsx';
import { TONES } from './tones.ts';

export interface LaneAction {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
}
export interface RunningAction extends LaneAction {
  readonly since: string;
  readonly leaseUntil: string;
}

const PAST = 20;
const WAITING = 12;

/** A lane as a line: finished, running, waiting. It scrolls inside itself, and the running action is in view. */
export function LaneLine(props: {
  past: readonly LaneAction[];
  running: RunningAction | null;
  waiting: readonly LaneAction[];
  more?: number;
  label: string;
}) {
  const { past, running, waiting, label } = props;
  const now = useRef<HTMLLIElement>(null);
  const runningId = running?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: again only when another one runs
  useEffect(() => {
    const item = now.current;
    const line = item?.parentElement;
    if (item && line) line.scrollLeft = item.offsetLeft - line.clientWidth / 3;
  }, [runningId]);
  const shown = waiting.slice(0, WAITING);
  const rest = waiting.length - shown.length + (props.more ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there
    <ol aria-label={label} tabIndex={0} className="relative flex h-12 items-center gap-2 overflow-x-auto">
      {past.slice(-PAST).map((action) => {
        const { icon: Icon, tone, word } = STATES[stateOf(action.state)];
        return (
          <li key={action.id}>
            <PageLink
              to="/actions/$id"
              params={{ id: action.id }}
              title={`${action.kind} ${action.id}: ${word}`}
              aria-label={`${action.kind} ${action.id}: ${word}`}
              className={classes(
                'flex size-6 items-center justify-center rounded-round',
                TONES[tone].text,
                TONES[tone].tint,
              )}
            >
              <Icon aria-hidden size={14} />
            </PageLink>
          </li>
        );
      })}
      <li ref={now} className="shrink-0">
        {running ? (
          <PageLink
            to="/actions/$id"
            params={{ id: running.id }}
            className="flex h-8 items-center gap-2 rounded-control border-2 border-blue-fill bg-blue-tint px-3 text-table font-medium text-blue-text whitespace-nowrap"
          >
            {running.kind} {running.id}
            <LeaseCountdown from={running.since} until={running.leaseUntil} />
          </PageLink>
        ) : (
          <span className="flex h-8 items-center rounded-control border-2 border-dashed border-control px-3 text-table text-ink-3 whitespace-nowrap">
            nothing is running
          </span>
        )}
      </li>
      {shown.map((action) => (
        <li key={action.id} className="shrink-0">
          <PageLink
            to="/actions/$id"
            params={{ id: action.id }}
            aria-label={`${action.kind} ${action.id}: waiting`}
            className="flex h-6 items-center rounded-badge border border-control px-2 text-label text-ink-2 whitespace-nowrap hover:bg-sunken"
          >
            {action.kind}
          </PageLink>
        </li>
      ))}
      {rest > 0 && <li className="text-label text-ink-3 whitespace-nowrap">+{rest}</li>}
    </ol>
  );
}
