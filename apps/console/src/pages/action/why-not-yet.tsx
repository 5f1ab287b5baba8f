import type { ActionWithEvents, WaitingFor } from '@muster/contracts';
import { useApi } from '../../api/use-api.ts';
import { HelpedReason } from '../../reasons/helped-reason.tsx';
import { nameOf } from '../../words/action-name.ts';

/** Why it has not run yet: the reason, what helps, and the cause of what is ahead of it. */
export function WhyNotYet({ action }: { action: ActionWithEvents }) {
  if (!action.waitingFor) return null;
  return (
    <section
      aria-label="Why it waits"
      className="flex flex-col gap-2 rounded-card border border-control bg-surface px-4 py-3"
    >
      <h2 className="text-label font-semibold text-ink-3 uppercase">
        {action.state === 'claimed' ? 'Now' : 'Why it waits'}
      </h2>
      <HelpedReason explain reason={named(action.waitingFor, action)} action={action} />
      {action.waitingFor.code === 'BEHIND' && action.waitingFor.actionId && (
        <Cause id={action.waitingFor.actionId} />
      )}
    </section>
  );
}

/** The cause is what the first one in line waits for. */
function Cause({ id }: { id: string }) {
  const { data } = useApi('/api/actions/:id', { params: { id } });
  if (!data?.waitingFor) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 pl-4">
      <span className="text-label text-ink-3">
        and {nameOf(data)} {id}:
      </span>
      <HelpedReason reason={named(data.waitingFor, data)} action={data} />
    </div>
  );
}

/** A worker is shown by its name; `by` of a pause is a person already. */
function named(reason: WaitingFor, { worker, workerName }: ActionWithEvents): WaitingFor {
  return workerName !== undefined && reason.by === worker ? { ...reason, by: workerName } : reason;
}
