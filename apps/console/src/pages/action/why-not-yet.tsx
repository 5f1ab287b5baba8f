import type { ActionWithEvents, WaitingFor } from '@muster/contracts';
import type { ReactNode } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useApi } from '../../api/use-api.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ReasonChip } from '../../ui/reason-chip.tsx';

/** Why has this not run yet? The reason, what helps, and the cause of whatever it stands behind. */
export function WhyNotYet({ action }: { action: ActionWithEvents }) {
  const help = useHelp(action.waitingFor, action);
  if (!action.waitingFor) return null;
  return (
    <section
      aria-label="Why not yet"
      className="flex flex-col gap-2 rounded-card border border-control bg-surface px-4 py-3"
    >
      <h2 className="text-label font-semibold text-ink-3 uppercase">
        {action.state === 'claimed' ? 'Now' : 'Why not yet'}
      </h2>
      <ReasonChip explain reason={action.waitingFor} act={help} />
      {action.waitingFor.code === 'BEHIND' && action.waitingFor.actionId && (
        <Cause id={action.waitingFor.actionId} />
      )}
    </section>
  );
}

/** What the one in front waits for is the cause. */
function Cause({ id }: { id: string }) {
  const { data } = useApi('/api/actions/:id', { params: { id } });
  return data?.waitingFor ? <Shown action={data} reason={data.waitingFor} /> : null;
}

function Shown({ action, reason }: { action: ActionWithEvents; reason: WaitingFor }) {
  const help = useHelp(reason, action);
  return (
    <div className="flex flex-wrap items-center gap-2 pl-4">
      <span className="text-label text-ink-3">and that one:</span>
      <ReasonChip reason={reason} act={help} />
    </div>
  );
}

/** The one button that helps, or null: then it is said that nothing has to be pressed. */
function useHelp(reason: WaitingFor | null, action: ActionWithEvents): ReactNode {
  const { act, busy } = useAct();
  const may = useMay('operator');
  if (!may || !reason) return null;
  const button = (word: string, run: () => Promise<unknown>, text: string) => (
    <Button disabled={busy} onClick={() => void act(run, { text })}>
      {word}
    </Button>
  );
  const { lane, space } = action;
  switch (reason.code) {
    case 'LANE_PAUSED':
      return space === 'generic' && lane !== null
        ? button(
            'Resume the lane',
            () => ask('POST', '/api/lanes/:lane/resume', { params: { lane }, body: {} }),
            'The lane goes on.',
          )
        : null;
    case 'TENANT_PAUSED':
      return button(
        'Resume everything',
        () => ask('POST', '/api/resume', { body: {} }),
        'Everything goes on.',
      );
    case 'TAG_PAUSED': {
      const { tag } = reason;
      return tag === undefined
        ? null
        : button(
            `Resume ${tag}`,
            () => ask('POST', '/api/resume', { body: { tag } }),
            `The tag ${tag} goes on.`,
          );
    }
    case 'DEVICE_IN_ERROR':
      return space === 'device' && lane !== null
        ? button(
            'Clear error',
            () => ask('POST', '/api/devices/:id/clear-error', { params: { id: lane } }),
            'The device is in order again.',
          )
        : null;
    case 'BEHIND':
      return button(
        'To front',
        () => ask('POST', '/api/actions/:id/move-to-front', { params: { id: action.id }, body: {} }),
        'It is first in its lane.',
      );
    default:
      return null;
  }
}
