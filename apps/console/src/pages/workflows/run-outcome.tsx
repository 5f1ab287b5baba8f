import type { WorkflowRun } from '@muster/contracts';
import { count, counted } from '../../words/numbers.ts';

/** The outcome of a run: "18 succeeded, 2 failed of 20 devices". */
export function RunOutcome({ run }: { run: WorkflowRun }) {
  const { cancelled, done, failed, refused, sent, status, targets, waiting } = run;
  if (status === 'missed') return <span className="text-ink-3">no action was queued</span>;
  if (targets === 0) return <span className="text-ink-3">no device matched</span>;
  if (done === targets) return <span>all {counted(targets, 'device')} succeeded</span>;
  const parts = [
    [done, 'succeeded'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [refused, 'refused'],
    [sent, 'running'],
    [waiting, 'pending'],
    // not queued before the run was cancelled, and actions that are no longer kept
    [targets - done - failed - cancelled - refused - sent - waiting, 'without an action'],
  ] as const;
  const said = parts.filter(([many]) => many > 0).map(([many, word]) => `${count(many)} ${word}`);
  return (
    <span>
      {said.join(', ')} of {counted(targets, 'device')}
    </span>
  );
}
