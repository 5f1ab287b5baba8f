import type { ActionFilter } from '@muster/engine';
import type { InternalChannels } from '../../internal/internal-channels.ts';
import type { Lanes } from './lanes.ts';

export interface WireFilter {
  readonly lane?: string | undefined;
  readonly space?: string | undefined;
  readonly channel?: string | undefined;
  readonly kind?: string | undefined;
  readonly tag?: string | undefined;
  readonly internal?: boolean | 'true' | 'false' | undefined;
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

/** Fields that select actions explicitly: with one of them, the server's own actions match too. */
const MEANT = ['lane', 'channel', 'kind', 'tag', 'ids'] as const;

/** Translates a filter of the wire for the engine; null: it names a lane that does not exist, so nothing matches. */
export async function filterOf(
  { internalChannels, lanes }: { internalChannels: InternalChannels; lanes: Lanes },
  tenantId: number,
  wire: WireFilter,
): Promise<ActionFilter | null> {
  const laneId = wire.lane === undefined ? undefined : await lanes.find(tenantId, wire.lane, wire.space);
  if (laneId === null) return null;
  const isWithout =
    (wire.internal === false || wire.internal === 'false') && MEANT.every((name) => wire[name] === undefined);
  return {
    tenantId,
    ...(isWithout ? { exceptChannels: internalChannels.all } : {}),
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
    payloadText: wire.text,
  };
}

const date = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
