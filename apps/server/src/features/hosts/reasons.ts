import type { DoorReason, GiveReasons } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import type { ControlQueries } from './queries.ts';

/** Why an action of a host waits, beyond the engine's reasons: its agent is away, or its service was deleted. */
export const SERVICE_DELETED = 'SERVICE_DELETED';

export function createReasons(queries: ControlQueries, contacts: ChannelContacts): GiveReasons {
  return async (client, waiting) => {
    const found = await queries.contactsOfLanes(client, waiting);
    const byLane = new Map(found.map((contact) => [`${contact.tenantId}:${contact.laneId}`, contact]));
    const reasons = new Map<string, DoorReason>();
    for (const { id, tenantId, laneId } of waiting) {
      const contact = byLane.get(`${tenantId}:${laneId}`);
      const seenAt = contact ? contacts.latest(tenantId, contact.hostId, contact.seenAt) : null;
      if (!contact)
        reasons.set(id, { place: 'held', code: SERVICE_DELETED, text: 'The service was deleted.' });
      else if (seenAt === null)
        reasons.set(id, {
          place: 'offline',
          code: 'OFFLINE',
          text: 'The agent of its host has never connected.',
        });
      else if (!contacts.isOnline(seenAt))
        reasons.set(id, {
          place: 'offline',
          code: 'OFFLINE',
          text: `Its host is offline; last contact at ${seenAt.toISOString()}.`,
          since: seenAt,
        });
    }
    return reasons;
  };
}
