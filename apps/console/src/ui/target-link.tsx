import type { Action } from '@muster/contracts';
import { TextLink } from './link.tsx';

/** The target of a lane, by name if it has one: people know Tablet 0412, not device 412. */
export function TargetLink({ action }: { action: Pick<Action, 'targetName' | 'lane' | 'space' | 'tags'> }) {
  const { lane, space, tags, targetName } = action;
  if (lane === null) return <span className="text-ink-3">no lane</span>;
  if (space === 'device')
    return (
      <TextLink to="/devices/$id" params={{ id: lane }}>
        {targetName ?? `device ${lane}`}
      </TextLink>
    );
  const host = tags.find((tag) => tag.startsWith('host:'))?.slice('host:'.length);
  if (space === 'service' && host !== undefined)
    return (
      <TextLink to="/hosts/$id" params={{ id: host }}>
        {targetName ?? `service ${lane} of host ${host}`}
      </TextLink>
    );
  if (space === 'orders') return <TextLink to="/orders">{targetName ?? 'Orders'}</TextLink>;
  return (
    <TextLink to="/actions" search={{ lane, space: space ?? undefined }}>
      {space === 'generic' || space === null ? lane : `${space} ${lane}`}
    </TextLink>
  );
}
