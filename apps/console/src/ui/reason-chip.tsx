import type { WaitingFor } from '@muster/contracts';
import type { ReactNode } from 'react';
import { useNow } from '../words/clock.ts';
import { lookOf, partsOf, patienceOf } from '../words/reasons.ts';
import { clock, countdown, duration } from '../words/times.ts';
import { useZone } from '../words/zone.ts';
import { classes } from './classes.ts';
import { PageLink } from './page-link.tsx';
import { TONES } from './tones.ts';

/** Why it has not run yet: the whole sentence, with links to what it names, and the one button that helps. */
export function ReasonChip(props: { reason: WaitingFor; act?: ReactNode; explain?: boolean }) {
  const { reason, act, explain } = props;
  const { dashed, icon: Icon, tone } = lookOf(reason.code);
  const patience = explain && !act ? patienceOf(reason) : undefined;
  return (
    <span className="inline-flex max-w-full flex-wrap items-center gap-2">
      <span
        className={classes(
          'inline-flex max-w-full items-start gap-1 rounded-badge border px-2 py-hair text-table',
          dashed && 'border-dashed',
          TONES[tone].border,
          TONES[tone].text,
        )}
      >
        <Icon aria-hidden size={14} className="mt-[3px] shrink-0" />
        <span className="min-w-0 wrap-anywhere">
          <Sentence reason={reason} />
        </span>
      </span>
      {act}
      {patience && <span className="text-label text-ink-3">{patience}</span>}
    </span>
  );
}

function Sentence({ reason }: { reason: WaitingFor }) {
  const now = useNow();
  const [zone] = useZone();
  return partsOf(reason).map((part, place) => {
    const key = `${place}`;
    if ('text' in part) return <span key={key}>{part.text}</span>;
    if ('actionId' in part) return <IdLink key={key} to="/actions/$id" id={part.actionId} />;
    if ('batchId' in part) return <IdLink key={key} to="/batches/$id" id={part.batchId} />;
    if ('taskId' in part) return <IdLink key={key} to="/tasks/$id" id={part.taskId} />;
    if ('tag' in part)
      return (
        <PageLink
          key={key}
          to="/actions"
          search={{ state: 'unfinished', tag: part.tag }}
          className="underline underline-offset-2"
        >
          {part.tag}
        </PageLink>
      );
    const at = Date.parse(part.at);
    // future times count down, past ones say how long ago
    const apart = at > now ? `in ${countdown(at - now)}` : `${duration(now - at)} ago`;
    return (
      <time key={key} dateTime={part.at}>
        {clock(at, zone)} ({apart})
      </time>
    );
  });
}

function IdLink({ to, id }: { to: '/actions/$id' | '/batches/$id' | '/tasks/$id'; id: string }) {
  return (
    <PageLink to={to} params={{ id }} className="underline underline-offset-2">
      {id}
    </PageLink>
  );
}
