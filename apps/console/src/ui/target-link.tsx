import type { Action } from '@muster/contracts';
import { TextLink } from './link.tsx';

/** Whose lane it is: a device, the host of a service, or a lane of its own. */
export function TargetLink({ action }: { action: Pick<Action, 'lane' | 'space' | 'tags'> }) {
  const { lane, space, tags } = action;
  if (lane === null) return <span className="text-ink-3">no lane</span>;
  if (space === 'device')
    return (
      <TextLink to="/devices/$id" params={{ id: lane }}>
        device {lane}
      </TextLink>
    );
  const host = tags.find((tag) => tag.startsWith('host:'))?.slice('host:'.length);
  if (space === 'service' && host !== undefined)
    return (
      <TextLink to="/hosts/$id" params={{ id: host }}>
        host {host}, service {lane}
      </TextLink>
    );
  return (
    <TextLink to="/actions" search={{ lane, space: space ?? undefined }}>
      {space === 'generic' || space === null ? lane : `${space} ${lane}`}
    </TextLink>
  );
}
