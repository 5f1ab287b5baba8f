import type { Phone } from '@muster/contracts';
import { BellOff, BellRing, CircleCheck, CircleSlash, Send } from 'lucide-react';
import { Badge } from '../../ui/badge.tsx';
import { Time } from '../../ui/time.tsx';
import { counted } from '../../words/numbers.ts';

/** Can it be woken up, and is somebody waiting for it? In a word. */
export function PushState({ phone }: { phone: Phone }) {
  if (phone.releasedAt) return <Badge icon={CircleSlash} tone="slate" word="left" />;
  switch (phone.push.state) {
    case 'none':
      return <Badge icon={BellOff} tone="amber" word="no token" />;
    case 'dead':
      return <Badge icon={BellOff} tone="red" word="unreachable" />;
    case 'due':
      return <Badge icon={Send} tone="blue" word="push due" />;
    case 'sent':
      return <Badge icon={BellRing} tone="blue" word="pushed" />;
    case 'idle':
      return <Badge icon={CircleCheck} tone="green" word="reachable" />;
  }
}

/** The same in a sentence, with what to do. */
export function PushSentence({ phone }: { phone: Phone }) {
  const { push } = phone;
  if (phone.releasedAt)
    return (
      <>
        It has left <Time at={phone.releasedAt} />: a new profile enrols it again.
      </>
    );
  if (push.state === 'none') return <>It has said no token yet: the enrolment has not ended.</>;
  if (push.state === 'dead')
    return <>APNs does not know it any more ({push.deadReason}). It comes back with its next token.</>;
  if (push.state === 'idle') return <>Nothing waits for it.</>;
  return (
    <>
      {push.pushes > 0
        ? `${counted(push.pushes, 'push', 'pushes')} since it was here`
        : 'Something waits for it'}
      {push.pushedAt && (
        <>
          , the last <Time at={push.pushedAt} />
        </>
      )}
      {push.nextAt && (
        <>
          , the next <Time at={push.nextAt} />
        </>
      )}
      .
    </>
  );
}
