import type { Phone } from '@muster/contracts';
import { useApi } from '../../api/use-api.ts';
import { HelpedReason } from '../../reasons/helped-reason.tsx';
import { TextLink } from '../../ui/link.tsx';
import { nameOf } from '../../words/action-name.ts';

/** The next action of the phone, and why it has not run; everything behind it waits too. */
export function FirstWaiting({ phone: { id } }: { phone: Phone }) {
  const { data } = useApi('/api/devices/:id/queue', { params: { id } });
  const first = data?.actions[0];
  if (!data) return null;
  if (!first) return <>nothing</>;
  return (
    <span className="flex flex-wrap items-center gap-2">
      <TextLink to="/actions/$id" params={{ id: first.id }}>
        {nameOf(first)} {first.id}
      </TextLink>
      {first.waitingFor && (
        <HelpedReason
          withoutFront
          reason={first.waitingFor}
          action={{ id: first.id, lane: id, space: 'device' }}
        />
      )}
    </span>
  );
}
