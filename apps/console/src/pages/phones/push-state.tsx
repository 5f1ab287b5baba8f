import type { Phone } from '@muster/contracts';
import { BellOff, BellRing, CircleCheck, CircleSlash, Send } from 'lucide-react';
import { Badge } from '../../ui/badge.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { endingOf } from '../../words/endings.ts';
import { count, counted } from '../../words/numbers.ts';

/** The server counts no further. */
const DEPTH_UP_TO = 1_000;

/** Whether it can be woken up, and whether anything waits for it, in one word. */
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
  if (push.state === 'none')
    return (
      <>
        It has sent no push token yet: the enrolment is not complete. <Waiting phone={phone} />
      </>
    );
  if (push.state === 'dead')
    return (
      <>
        {endingOf(push.deadReason ?? 'apns_unregistered')} It comes back with its next token.{' '}
        <Waiting phone={phone} />
      </>
    );
  if (push.state === 'idle')
    return phone.queueDepth === 0 ? (
      <>Nothing waits for it.</>
    ) : (
      <>
        <Waiting phone={phone} /> No push is needed now.
      </>
    );
  return (
    <>
      {push.pushes > 0
        ? `${counted(push.pushes, 'push', 'pushes')} since its last contact`
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

/** What waits for it may need no push: it waits for a time, is paused, or the phone is connected. */
function Waiting({ phone: { id, queueDepth } }: { phone: Phone }) {
  if (queueDepth === 0) return null;
  const many =
    queueDepth >= DEPTH_UP_TO ? `over ${count(DEPTH_UP_TO)} actions` : counted(queueDepth, 'action');
  return (
    <>
      <TextLink to="/devices/$id" params={{ id }}>
        {many}
      </TextLink>{' '}
      {queueDepth === 1 ? 'waits' : 'wait'} for it.
    </>
  );
}
