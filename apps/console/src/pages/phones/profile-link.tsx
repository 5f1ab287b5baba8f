import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { Button, type ButtonProps } from '../../ui/button.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';

/** Creates the URL of a profile that enrols a phone as this device. */
export function useProfileLink(id: string) {
  const { act, busy } = useAct();
  const [url, setUrl] = useState<string>();
  const make = async () => {
    const made = await act(() => ask('POST', '/api/devices/:id/mdm/enrolment', { params: { id } }));
    if (made) setUrl(made.url);
  };
  const shown = (
    <ShownOnce
      label="Address of the profile"
      secret={url}
      about="Open it in Safari on the phone and install the profile. It works until a phone has used it or a new one is created."
      onClose={() => setUrl(undefined)}
    />
  );
  return { busy, make, shown };
}

export function ProfileLink({ id, look }: { id: string } & Pick<ButtonProps, 'look'>) {
  const { busy, make, shown } = useProfileLink(id);
  return (
    <>
      <Button {...(look ? { look } : {})} disabled={busy} onClick={() => void make()}>
        Profile link
      </Button>
      {shown}
    </>
  );
}
