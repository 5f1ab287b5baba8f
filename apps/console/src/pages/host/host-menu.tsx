import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';

/** The tokens of its agent. */
export function HostMenu({ id, name }: { id: string; name: string }) {
  const { act } = useAct();
  const may = useMay('admin');
  const [asked, setAsked] = useState<Confirmation>();
  const [token, setToken] = useState<string>();
  if (!may) return null;
  const params = { hostId: id };
  const rotate = async () => {
    const made = await act(() => ask('POST', '/api/hosts/:hostId/token', { params }));
    if (made) setToken(made.agentToken);
  };
  const revoke = () =>
    void act(() => ask('DELETE', '/api/hosts/:hostId/token', { params }), {
      text: `Every token of ${name} is revoked.`,
    });
  return (
    <>
      <Menu
        items={[
          { word: 'New token', act: () => void rotate() },
          {
            word: 'Revoke its tokens …',
            danger: true,
            act: () =>
              setAsked({
                title: `Revoke the tokens of ${name}?`,
                about: 'Its agent is refused at once, on all nodes. What it runs ends with its leases.',
                verb: 'Revoke',
                danger: true,
                act: revoke,
              }),
          },
        ]}
      />
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
      <ShownOnce
        secret={token}
        about={`The token of the agent of ${name}. The old one is valid until this one is used.`}
        onClose={() => setToken(undefined)}
      />
    </>
  );
}
