import type { Targets } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { useToast } from '../../ui/toast.tsx';
import { AT_ONCE } from '../../words/at-once.ts';
import { counted } from '../../words/numbers.ts';

interface Wish {
  readonly targets: Targets;
  /** "Assign", "Run". */
  readonly verb: string;
  /** What is assigned to them. */
  readonly kind: string;
  readonly act: () => void;
}

/** An act on many devices, which are counted first: none is refused, and more than a hundred needs a confirmation. */
export function useForMany() {
  const { act, busy } = useAct();
  const { say } = useToast();
  const [asked, setAsked] = useState<Confirmation>();
  const forMany = async ({ targets, verb, kind, act: go }: Wish) => {
    const answer = await act(() => ask('POST', '/api/devices/count', { body: { targets } }));
    if (!answer) return;
    const devices = counted(answer.count, 'device');
    if (answer.count === 0) say({ text: nobody(targets), isError: true });
    else if (answer.count <= AT_ONCE) go();
    else
      setAsked({
        title: `${verb} ${kind} for ${devices}?`,
        about: 'all' in targets ? 'That is every device.' : 'Each of them gets it when it next connects.',
        verb: `${verb} for ${devices}`,
        act: go,
      });
  };
  return { forMany, busy, dialog: <Confirm asked={asked} onClose={() => setAsked(undefined)} /> };
}

function nobody(targets: Targets): string {
  if ('all' in targets) return 'There are no devices.';
  if ('tags' in targets)
    return `No device has ${targets.tags.length === 1 ? 'the tag' : 'all of the tags'} ${targets.tags.join(', ')}.`;
  return 'None of these devices exists.';
}
