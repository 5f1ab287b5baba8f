import type { Action } from '@muster/contracts';
import { TextLink } from './link.tsx';

/** Whose lane it is, by name where it has one, people know Tablet 0412 and not device 412: a device, the host of a service, or a lane of its own. */
export function TargetLink({ action }: { action: Pick<Action, 'deviceName' | 'lane' | 'space' | 'tags'> }) {
  const { deviceName, lane, space, tags } = action;
  if (lane === null) return <span className="text-ink-3">no lane</span>;
  if (space === 'device')
    return (
      <TextLink to="/devices/$id" params={{ id: lane }}>
        {deviceName ?? `device ${lane}`}
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
