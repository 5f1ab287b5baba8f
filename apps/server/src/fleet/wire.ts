import type { LaneLoad } from '@muster/engine';
import type { DeviceRow } from './queries.ts';

export function wireDevice(
  row: DeviceRow,
  load: LaneLoad | undefined,
  { online, seenAt, currentName }: { seenAt: Date | null; online: boolean; currentName: string | undefined },
) {
  const leased = load?.leased;
  return {
    id: row.deviceId,
    name: row.name,
    externalId: row.externalId,
    tags: row.tags,
    state: row.state,
    stateReason: row.stateReason ?? undefined,
    online: online,
    lastSeenAt: seenAt,
    queueDepth: load?.waiting ?? 0,
    pausedAt: load?.paused?.at,
    pausedBy: load?.paused?.by ?? undefined,
    current: leased
      ? {
          id: leased.id,
          kind: leased.kind,
          name: currentName,
          attempt: leased.attempt,
          sentAt: leased.leasedAt,
          leaseUntil: leased.leaseUntil,
          cancelRequested: leased.cancelRequested || undefined,
        }
      : null,
    expiresAt: row.expiresAt,
    projectedExpiresAt: row.projectedExpiresAt,
    pcId: row.pcId,
    absent: row.absentSince !== null || undefined,
    absentSince: row.absentSince ?? undefined,
    ack: row.ack,
    createdAt: row.createdAt,
  };
}
