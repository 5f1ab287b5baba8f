import type { Engine, Queryable } from '@muster/engine';

/** Actions with a fixed place or time: an operator can change it only where their door allows. */
export type Moving = ReturnType<typeof createMoving>;

interface Kind {
  readonly channel: string;
  readonly kind: string;
}

export function createMoving({ schema: s }: Engine) {
  const refusals = new Map<string, () => Error>();
  const ofTime = new Map<string, () => Error>();
  const word = ({ channel, kind }: Kind) => JSON.stringify([channel, kind]);
  return {
    /** Actions of this channel cannot be moved. */
    refuse: (channel: string, why: () => Error) => void refusals.set(channel, why),
    refusalOf: (channel: string): Error | null => refusals.get(channel)?.() ?? null,

    /** Actions of this kind cannot be made due. */
    keepTime: (kind: Kind, why: () => Error) => void ofTime.set(word(kind), why),
    timeRefusalOf: (kind: Kind): Error | null => ofTime.get(word(kind))?.() ?? null,
    /** What cannot be changed of such an action, whatever its state; undefined: everything can. */
    fixedOf(kind: Kind): ('place' | 'time')[] | undefined {
      const fixed: ('place' | 'time')[] = [];
      if (refusals.has(kind.channel)) fixed.push('place');
      if (ofTime.has(word(kind))) fixed.push('time');
      return fixed.length > 0 ? fixed : undefined;
    },
    /**
     * Those of these actions that may be made due, by channel and kind, which never change: no transaction is needed.
     */
    async mayBeDue(client: Queryable, tenantId: number, ids: readonly string[]): Promise<string[]> {
      const { rows } = await client.query({
        name: 'muster_kinds_of_actions',
        text: `select x.action_id, x.channel, x.kind from unnest((select $2::bigint[])) with ordinality i(action_id, ord)
          cross join lateral (
            select * from ${s}.action_states x where x.tenant_id = $1 and x.action_id = i.action_id limit 1
          ) x order by i.ord`,
        values: [tenantId, ids],
      });
      return rows.filter((row) => !ofTime.has(word(row))).map((row) => row.action_id);
    },
  };
}
