import type { Phone } from '@muster/contracts';
import type { Engine, LaneLoad, Queryable } from '@muster/engine';
import type { LastContacts } from '../../contacts/contacts.ts';

/** Phones as operators see them: never a token, only whether there is one, and whether the phone can be reached. */
export type ShownPhones = ReturnType<typeof createShownPhones>;

interface Wanted {
  /** Only this one. */
  readonly deviceId?: string;
  /** After this one in the list. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** As in lists of devices. */
const DEPTH_UP_TO = 1_000;

export function createShownPhones(engine: Engine, contacts: LastContacts) {
  const { schema: s } = engine;
  // biome-ignore lint/suspicious/noExplicitAny: a row of the statement below
  const shown = (tenantId: number, row: any, load: LaneLoad | undefined): Phone => {
    const seenAt = contacts.latest(tenantId, row.device_id, row.seen_at);
    return {
      id: row.device_id,
      udid: row.udid,
      byod: row.byod,
      serial: row.serial,
      model: row.facts.productName ?? row.facts.model ?? null,
      osVersion: row.facts.osVersion ?? null,
      topic: row.topic,
      canBeUnlocked: row.can_be_unlocked,
      authenticatedAt: row.authenticated_at.toISOString(),
      enrolledAt: timeOf(row.enrolled_at),
      releasedAt: timeOf(row.released_at),
      name: row.name,
      queueDepth: load?.waiting ?? 0,
      online: contacts.isOnline(seenAt),
      lastSeenAt: timeOf(seenAt),
      certificateEndsAt: timeOf(row.not_after),
      push: {
        state: stateOf(row),
        tokenAt: timeOf(row.token_at),
        deadReason: row.dead_reason,
        pushes: row.pushes ?? 0,
        pushedAt: timeOf(row.pushed_at),
        nextAt: timeOf(row.due_at),
      },
    };
  };

  return async (client: Queryable, tenantId: number, wanted: Wanted): Promise<Phone[]> => {
    const { rows } = await client.query({
      text: `select p.udid, p.device_id, p.byod, p.serial, p.facts, p.topic, p.sealed_unlock_token is not null as can_be_unlocked,
          p.authenticated_at, p.enrolled_at, p.released_at, d.name, d.lane_id, c.not_after, ${contacts.seenAt('p.tenant_id', 'p.device_id')} as seen_at,
          t.updated_at as token_at, t.dead_at, t.dead_reason, l.device_id as wanted, l.pushes, l.pushed_at, l.due_at
        from ${s}.mdm_devices p
        cross join lateral (select d.name, d.lane_id from ${s}.devices d where d.tenant_id = $1 and d.device_id = p.device_id limit 1) d
        cross join lateral (
          select max(c.not_after) as not_after from ${s}.mdm_certificates c where c.tenant_id = $1 and c.udid = p.udid and ${s}.sought_by(c.udid)
        ) c
        left join lateral (
          select * from ${s}.push_tokens t where t.tenant_id = $1 and t.device_id = p.device_id and t.app = 'mdm' limit 1
        ) t on true
        left join lateral (select * from ${s}.push_ledger l where l.tenant_id = $1 and l.device_id = p.device_id limit 1) l on true
        where p.tenant_id = $1 and ${wanted.deviceId === undefined ? '($2::bigint is null or p.device_id < $2)' : 'p.device_id = $2'}
          and ${s}.sought_by(p.device_id)
        order by p.device_id desc limit $3`,
      values: [tenantId, wanted.deviceId ?? wanted.before ?? null, wanted.limit],
    });
    const lanes = rows.map((row) => ({ tenantId, laneId: row.lane_id as string }));
    const loads = new Map(
      (await engine.laneLoads(client, lanes, DEPTH_UP_TO)).map((load) => [load.laneId, load]),
    );
    return rows.map((row) => shown(tenantId, row, loads.get(row.lane_id)));
  };
}

function stateOf(row: {
  token_at: Date | null;
  dead_at: Date | null;
  wanted: string | null;
  pushes: number;
}): Phone['push']['state'] {
  if (row.token_at === null) return 'none';
  if (row.dead_at !== null) return 'dead';
  if (row.wanted === null) return 'idle';
  return row.pushes > 0 ? 'sent' : 'due';
}

const timeOf = (at: Date | null | undefined) => at?.toISOString() ?? null;
