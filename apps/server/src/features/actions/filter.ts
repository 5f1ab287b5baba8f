import type { ActionFilter } from '@muster/engine';
import type { Lanes } from './lanes.ts';

export interface WireFilter {
  readonly lane?: string | undefined;
  readonly space?: string | undefined;
  readonly channel?: string | undefined;
  readonly kind?: string | undefined;
  readonly tag?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly state?: ActionFilter['state'];
  readonly createdBefore?: string | undefined;
  readonly createdAfter?: string | undefined;
  readonly endedBefore?: string | undefined;
  readonly endedAfter?: string | undefined;
  readonly source?: string | undefined;
  readonly error?: string | undefined;
  readonly text?: string | undefined;
}

/** A filter of the wire in the engine's words; null: it names a lane that does not exist, so nothing matches. */
export async function filterOf(
  lanes: Lanes,
  tenantId: number,
  wire: WireFilter,
): Promise<ActionFilter | null> {
  const laneId = wire.lane === undefined ? undefined : await lanes.find(tenantId, wire.lane, wire.space);
  if (laneId === null) return null;
  return {
    tenantId,
    ...(laneId === undefined ? {} : { laneId }),
    ...(wire.channel === undefined ? {} : { channel: wire.channel }),
    ...(wire.kind === undefined ? {} : { kind: wire.kind }),
    ...(wire.tag === undefined ? {} : { tag: wire.tag }),
    ...(wire.ids === undefined ? {} : { ids: wire.ids }),
    ...(wire.state === undefined ? {} : { state: wire.state }),
    createdBefore: date(wire.createdBefore),
    createdAfter: date(wire.createdAfter),
    endedBefore: date(wire.endedBefore),
    endedAfter: date(wire.endedAfter),
    createdBy: wire.source,
    error: wire.error,
    // as it stands in JSON
    payloadText: wire.text === undefined ? undefined : JSON.stringify(wire.text).slice(1, -1),
  };
}

const date = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
