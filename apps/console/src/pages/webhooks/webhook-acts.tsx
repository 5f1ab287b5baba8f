import type { Webhook } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { duration } from '../../words/times.ts';
import { PauseDialog } from './pause-dialog.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';
import { nameOf } from './webhook-state.tsx';

/** Pause with a reason, resume, ping, change, delete. Only admins change the destination. */
export function WebhookActs({ webhook }: { webhook: Webhook }) {
  const { act, busy } = useAct();
  const may = useMay('admin');
  const navigate = useNavigate();
  const [open, setOpen] = useState<'edit' | 'pause' | 'replay'>();
  const [asked, setAsked] = useState<Confirmation>();
  const [secret, setSecret] = useState<string>();
  if (!may) return null;
  const params = { id: webhook.id };
  const name = nameOf(webhook);
  const close = () => setOpen(undefined);
  const resume = (skipMissed: boolean) =>
    void act(() => ask('POST', '/api/webhooks/:id/resume', { params, body: { skipMissed } }), {
      text: skipMissed ? `${name} resumed; it gets events from now on.` : `${name} resumed where it was.`,
    });
  const ping = () =>
    void act(
      () => ask('POST', '/api/webhooks/:id/ping', { params, body: {} }),
      ({ error, status, tookMs }) => ({
        text:
          error === null
            ? `The ping was accepted: ${status}, in ${duration(tookMs)}.`
            : `The ping was not accepted: ${status === null ? '' : `${status}, `}${error}`,
        isError: error !== null,
      }),
    );
  const rotate = async () => {
    const made = await act(() => ask('POST', '/api/webhooks/:id/rotate-secret', { params, body: {} }));
    if (made) setSecret(made.secret);
  };
  const remove = () =>
    setAsked({
      title: `Delete ${name}?`,
      about: 'Waiting deliveries are not sent, and its log is deleted.',
      verb: 'Delete',
      danger: true,
      act: () =>
        void act(() => ask('DELETE', '/api/webhooks/:id', { params }).then(() => true), {
          text: `${name} is deleted.`,
        }).then((done) => {
          if (done) void navigate({ to: '/webhooks' });
        }),
    });
  return (
    <>
      {webhook.state === 'paused' ? (
        <Button look="first" disabled={busy} onClick={() => resume(false)}>
          Resume
        </Button>
      ) : (
        <Button disabled={busy} onClick={() => setOpen('pause')}>
          Pause
        </Button>
      )}
      <Button disabled={busy} onClick={ping}>
        Send a ping
      </Button>
      <Menu
        items={[
          ...(webhook.state === 'paused'
            ? [{ word: 'Resume and skip missed events', act: () => resume(true) }]
            : []),
          { word: 'Replay a time range …', act: () => setOpen('replay') },
          { word: 'Change …', act: () => setOpen('edit') },
          { word: 'New signing secret', act: () => void rotate() },
          { word: 'Delete …', danger: true, act: remove },
        ]}
      />
      {open === 'edit' && (
        <WebhookDialog
          title={`Change ${name}`}
          verb="Save"
          busy={busy}
          from={webhook}
          onClose={close}
          onDone={(body) =>
            void act(() => ask('PATCH', '/api/webhooks/:id', { params, body }), {
              text: `${name} was changed.`,
            }).then((done) => done && close())
          }
        />
      )}
      {open === 'pause' && (
        <PauseDialog
          name={name}
          busy={busy}
          onClose={close}
          onPause={(reason) =>
            void act(
              () => ask('POST', '/api/webhooks/:id/pause', { params, body: reason ? { reason } : {} }),
              {
                text: `${name} is paused.`,
                undo: { word: 'Undo', act: () => resume(false) },
              },
            ).then((done) => done && close())
          }
        />
      )}
      {open === 'replay' && <ReplayDialog id={webhook.id} name={name} onClose={close} />}
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
      <ShownOnce
        label="Signing secret"
        secret={secret}
        about="The new signing secret. For a day requests carry a signature of the former one too."
        onClose={() => setSecret(undefined)}
      />
    </>
  );
}
