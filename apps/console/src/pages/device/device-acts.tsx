import type { Device } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useTakeBack } from '../../api/use-take-back.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { AssignDialog } from '../assign/assign-dialog.tsx';
import { useProfileLink } from '../phones/profile-link.tsx';

/** Assign an action, pause the lane, clear the error, enrol again. */
export function DeviceActs({ device }: { device: Device }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const [isAssigning, setAssigning] = useState(false);
  const [asked, setAsked] = useState<Confirmation>();
  const [token, setToken] = useState<string>();
  const profile = useProfileLink(device.id);
  const takeBack = useTakeBack(act);
  if (!may) return null;
  const params = { id: device.id };
  const lane = (verb: 'pause' | 'resume') => ask('POST', `/api/devices/:id/${verb}`, { params, body: {} });
  const laneIs = (verb: 'pause' | 'resume') => `The lane of ${device.name} is ${verb}d.`;
  const change = (verb: 'pause' | 'resume', opposite: 'pause' | 'resume') =>
    void act(() => lane(verb), {
      text: laneIs(verb),
      undo: { word: 'Undo', act: () => void act(() => lane(opposite), { text: laneIs(opposite) }) },
    });
  const reEnrol = async () => {
    const made = await act(() => ask('POST', '/api/devices/:id/re-enrol', { params }));
    if (made) setToken(made.deviceToken);
  };
  const rotate = async () => {
    const made = await act(() => ask('POST', '/api/devices/:id/token', { params }));
    if (made) setToken(made.deviceToken);
  };
  return (
    <>
      {device.state === 'error' && (
        <Button
          disabled={busy}
          onClick={() =>
            void act(() => ask('POST', '/api/devices/:id/clear-error', { params }), {
              text: `${device.name} is no longer in error.`,
            })
          }
        >
          Clear error
        </Button>
      )}
      {device.pausedAt ? (
        <Button disabled={busy} onClick={() => change('resume', 'pause')}>
          Resume
        </Button>
      ) : (
        <Button disabled={busy} onClick={() => change('pause', 'resume')}>
          Pause lane
        </Button>
      )}
      <Button look="first" onClick={() => setAssigning(true)}>
        Assign
      </Button>
      <Menu
        items={[
          { word: 'New token', act: () => void rotate() },
          { word: 'Profile for a phone', act: () => void profile.make() },
          {
            word: 'Re-enrol …',
            danger: true,
            act: () =>
              setAsked({
                title: `Re-enrol ${device.name}?`,
                about: 'Its actions are cancelled, its old token is revoked, and it gets a new one.',
                verb: 'Re-enrol',
                danger: true,
                act: () => void reEnrol(),
              }),
          },
        ]}
      />
      {isAssigning && (
        <AssignDialog
          title={`Assign to ${device.name}`}
          about={
            device.online
              ? 'It goes out at once if nothing is ahead of it.'
              : 'The device is offline: it goes out when the device connects.'
          }
          busy={busy}
          onClose={() => setAssigning(false)}
          onAssign={(body) =>
            void act(
              () => ask('POST', '/api/devices/:id/actions', { params, body }),
              ({ id }) => ({ text: `Assigned as ${id}.`, undo: { word: 'Undo', act: () => takeBack(id) } }),
            ).then((made) => made && setAssigning(false))
          }
        />
      )}
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
      <ShownOnce
        secret={token}
        about={`The token of ${device.name}. The server does not show it again.`}
        onClose={() => setToken(undefined)}
      />
      {profile.shown}
    </>
  );
}
