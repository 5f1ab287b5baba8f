import type { Action } from '@muster/contracts';
import { useNow } from '../words/clock.ts';
import { endingOf } from '../words/endings.ts';
import { shortOf } from '../words/reasons.ts';
import { duration } from '../words/times.ts';
import { LeaseCountdown } from './lease-countdown.tsx';
import { ReasonChip } from './reason-chip.tsx';

type Row = Pick<
  Action,
  | 'state'
  | 'waitingFor'
  | 'leasedAt'
  | 'leaseUntil'
  | 'worker'
  | 'workerName'
  | 'targetName'
  | 'cancelRequested'
  | 'error'
  | 'reason'
  | 'attempt'
  | 'maxAttempts'
>;

/** Why it has not run yet, which worker has it, or how it ended: never cut off. */
export function Outcome({ action }: { action: Row }) {
  const now = useNow();
  if (action.state === 'pending') return action.waitingFor ? <ReasonChip reason={action.waitingFor} /> : null;
  if (action.state === 'claimed')
    return (
      <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1 text-table">
        {action.cancelRequested ? (
          <span className="text-amber-text">stop requested</span>
        ) : (
          <span className="text-ink-2">
            with {holderOf(action)}
            {action.leasedAt && ` for ${duration(now - Date.parse(action.leasedAt))}`}, attempt{' '}
            {action.attempt} of {action.maxAttempts}
          </span>
        )}
        {action.leasedAt && action.leaseUntil && (
          <LeaseCountdown from={action.leasedAt} until={action.leaseUntil} />
        )}
      </span>
    );
  const said = action.error ?? (action.state === 'succeeded' ? undefined : action.reason);
  return said ? <span className="wrap-anywhere text-ink-2">{endingOf(said)}</span> : null;
}

/** For a device with its own action, the row names the device already. */
function holderOf({ targetName, worker, workerName }: Row): string {
  if (workerName !== undefined) return workerName === targetName ? 'the device' : workerName;
  return worker === undefined ? 'its worker' : shortOf(worker);
}
