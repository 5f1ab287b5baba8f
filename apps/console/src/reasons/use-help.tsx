import type { Action, WaitingFor } from '@muster/contracts';
import type { ReactNode } from 'react';
import { ask } from '../api/ask.ts';
import { useAct } from '../api/use-act.ts';
import { useMay } from '../session/session.tsx';
import { Button } from '../ui/button.tsx';
import { batchOf } from '../words/reasons.ts';

/** What a button needs to know about an action; a change that its door does not allow gets no button. */
export type HelpedAction = Pick<Action, 'id' | 'lane' | 'space' | 'fixed'>;

/** The one button that helps; null if nothing has to be pressed. */
export function useHelp(reason: WaitingFor | null, action: HelpedAction): ReactNode {
  const { act, busy } = useAct();
  const isAdmin = useMay('admin');
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
      if (lane === null) return null;
      if (space === 'device')
        return button(
          'Resume the lane',
          () => ask('POST', '/api/devices/:id/resume', { params: { id: lane }, body: {} }),
          'Lane resumed.',
        );
      return space === 'generic'
        ? button(
            'Resume the lane',
            () => ask('POST', '/api/lanes/:lane/resume', { params: { lane }, body: {} }),
            'Lane resumed.',
          )
        : null;
    case 'TENANT_PAUSED':
      if (!isAdmin) return null;
      return button(
        'Resume everything',
        () => ask('POST', '/api/resume', { body: {} }),
        'Everything resumed.',
      );
    case 'TAG_PAUSED': {
      const { tag } = reason;
      const id = batchOf(tag);
      if (id !== undefined)
        return button(
          'Resume the batch',
          () => ask('POST', '/api/batches/:id/resume', { params: { id } }),
          `Batch ${id} resumed.`,
        );
      return tag === undefined || !isAdmin
        ? null
        : button(`Resume ${tag}`, () => ask('POST', '/api/resume', { body: { tag } }), `Tag ${tag} resumed.`);
    }
    case 'WEBHOOK_PAUSED': {
      const id = /^webhook:(\d+)$/.exec(reason.tag ?? '')?.[1];
      return id === undefined || !isAdmin
        ? null
        : button(
            'Resume the webhook',
            () => ask('POST', '/api/webhooks/:id/resume', { params: { id }, body: {} }),
            'Webhook resumed.',
          );
    }
    case 'DEVICE_IN_ERROR':
      return space === 'device' && lane !== null
        ? button(
            'Clear error',
            () => ask('POST', '/api/devices/:id/clear-error', { params: { id: lane } }),
            'The device is no longer in error.',
          )
        : null;
    case 'NOT_BEFORE':
    case 'NOT_NOW':
    case 'RETRY':
      // "not now" without a time waits for the next contact
      return reason.until === undefined || action.fixed?.includes('time')
        ? null
        : button(
            'Make due now',
            () => ask('POST', '/api/actions/:id/make-due', { params: { id: action.id }, body: {} }),
            'It is due now.',
          );
    case 'BEHIND':
      if (action.fixed?.includes('place')) return null;
      return button(
        'To front',
        () => ask('POST', '/api/actions/:id/move-to-front', { params: { id: action.id }, body: {} }),
        'It is first in its lane.',
      );
    default:
      return null;
  }
}
