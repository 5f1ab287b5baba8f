import type { Phone } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Menu } from '../../ui/menu.tsx';
import { CommandDialog } from './command-dialog.tsx';
import { useProfileLink } from './profile-link.tsx';

/** Push, send a command, enrol again. */
export function PhoneActs({ phone }: { phone: Phone }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const [isTelling, setTelling] = useState(false);
  const profile = useProfileLink(phone.id);
  if (!may) return null;
  const params = { id: phone.id };
  const isHere = phone.enrolledAt !== null && phone.releasedAt === null;
  const push = () =>
    void act(
      () => ask('POST', '/api/devices/:id/mdm/push', { params, body: {} }),
      ({ error, result }) => ({
        text: error === null ? 'Pushed.' : `APNs did not accept the push: ${error}.`,
        ...(result === null ? {} : { detail: result }),
        isError: error !== null,
      }),
    );
  return (
    <>
      {isHere && (
        <Button disabled={busy} onClick={push}>
          Push now
        </Button>
      )}
      {isHere && (
        <Button look="first" onClick={() => setTelling(true)}>
          Raw command
        </Button>
      )}
      <Menu items={[{ word: 'New profile link', act: () => void profile.make() }]} />
      {isTelling && (
        <CommandDialog
          phone={phone}
          busy={busy}
          onClose={() => setTelling(false)}
          onSend={(body) =>
            void act(
              () => ask('POST', '/api/devices/:id/mdm/commands', { params, body }),
              ({ id }) => ({ text: `Queued as ${id}: it goes out when the phone connects.` }),
            ).then((made) => made && setTelling(false))
          }
        />
      )}
      {profile.shown}
    </>
  );
}
