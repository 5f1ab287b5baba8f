import type { DoorReason, GiveReasons } from '@muster/engine';
import type { ControlQueries } from './queries.ts';

/** Why an action of a host waits, beyond what the engine knows: its agent is away, or its service is gone. */
export const SERVICE_DELETED = 'SERVICE_DELETED';

export function isOnline(seenAt: Date | null, now: Date, windowSeconds: number): boolean {
  return seenAt !== null && now.getTime() - seenAt.getTime() < windowSeconds * 1_000;
}

export function createReasons(queries: ControlQueries, now: () => Date, windowSeconds: number): GiveReasons {
  return async (client, waiting) => {
    const contacts = await queries.contactsOfLanes(client, waiting);
    const byLane = new Map(contacts.map((contact) => [`${contact.tenantId}:${contact.laneId}`, contact]));
    const reasons = new Map<string, DoorReason>();
    for (const { id, tenantId, laneId } of waiting) {
      const contact = byLane.get(`${tenantId}:${laneId}`);
      if (!contact)
        reasons.set(id, { place: 'held', code: SERVICE_DELETED, text: 'Its service was deleted.' });
      else if (contact.seenAt === null)
        reasons.set(id, {
          place: 'offline',
          code: 'OFFLINE',
          text: 'The agent of its host has never been heard of.',
        });
      else if (!isOnline(contact.seenAt, now(), windowSeconds))
        reasons.set(id, {
          place: 'offline',
          code: 'OFFLINE',
          text: `Its host is offline; its agent was last heard of at ${contact.seenAt.toISOString()}.`,
        });
    }
    return reasons;
  };
}
