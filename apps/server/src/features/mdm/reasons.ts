import type { DoorReason, Engine } from '@muster/engine';
import { SENTENCES } from './push/faults.ts';
import { MDM } from './raw-commands.ts';

/**
 * Channels whose actions wait for a phone: operators' commands, and the pipeline's, which go out by the same contact.
 */
const CHANNELS = [MDM, 'pipeline'];

const DEATHS: Readonly<Record<string, string>> = {
  apns_bad_token: 'APNs refuses its push token',
  apns_unregistered: 'APNs says that it is no longer registered',
};

/** Also for commands it refused for now: nothing can call it to take them up again. */
const CUT_OFF = 'unreachable';

interface Row {
  readonly lane_id: string;
  readonly released_at: Date | null;
  readonly token_at: Date | null;
  readonly dead_at: Date | null;
  readonly dead_reason: string | null;
  readonly stop_reason: string | null;
  readonly topic: string | null;
  readonly pushes: number | null;
  readonly failures: number | null;
  readonly pushed_at: Date | null;
  readonly due_at: Date | null;
}

/** Why an action waits: the phone cannot be woken up, or was and has not come. One read for a whole page. */
export function givePushReasons(engine: Engine): void {
  const { schema: s } = engine;
  for (const channel of CHANNELS)
    engine.giveReasons(channel, async (client, waiting) => {
      const { rows } = await client.query({
        name: 'muster_push_reasons',
        text: `select i.lane_id, p.released_at, t.updated_at as token_at, t.dead_at, t.dead_reason, t.topic, o.stop_reason, l.pushes, l.failures,
            l.pushed_at, l.due_at
          from (select distinct * from unnest((select $1::int[]), (select $2::bigint[])) i(tenant_id, lane_id)) i
          cross join lateral (
            select d.device_id from ${s}.devices d where d.tenant_id = i.tenant_id and d.lane_id = i.lane_id and ${s}.sought_by(d.lane_id) limit 1
          ) d
          cross join lateral (
            select p.released_at from ${s}.mdm_devices p
            where p.tenant_id = i.tenant_id and p.device_id = d.device_id and ${s}.sought_by(p.device_id) limit 1
          ) p
          left join lateral (
            select * from ${s}.push_tokens t where t.tenant_id = i.tenant_id and t.device_id = d.device_id and t.app = 'mdm' limit 1
          ) t on true
          left join lateral (
            select o.stop_reason from ${s}.push_topics o where o.tenant_id = i.tenant_id and o.topic = t.topic limit 1
          ) o on true
          left join lateral (
            select * from ${s}.push_ledger l where l.tenant_id = i.tenant_id and l.device_id = d.device_id limit 1
          ) l on true`,
        values: [waiting.map(({ tenantId }) => tenantId), waiting.map(({ laneId }) => laneId)],
      });
      const ofLane = new Map((rows as Row[]).map((row) => [row.lane_id, reasonOf(row)]));
      return new Map(
        waiting.flatMap(({ id, laneId }) => {
          const reason = ofLane.get(laneId);
          return reason ? [[id, reason] as const] : [];
        }),
      );
    });
}

/** None: nothing keeps the phone from coming, and no push is needed. */
function reasonOf(row: Row): DoorReason | undefined {
  const { dead_at: deadAt, due_at: dueAt, pushed_at: pushedAt, released_at: releasedAt } = row;
  if (releasedAt)
    return {
      ...{ place: CUT_OFF, code: 'PHONE_LEFT', since: releasedAt },
      text: `The phone left at ${releasedAt.toISOString()}. Enrol it again with a new profile.`,
    };
  if (row.token_at === null)
    return {
      ...{ place: CUT_OFF, code: 'NO_PUSH_TOKEN' },
      text: 'The phone has no push token yet: its enrolment is not complete.',
    };
  if (deadAt)
    return {
      ...{ place: CUT_OFF, code: 'PUSH_TOKEN_DEAD', since: deadAt },
      text: `The phone cannot be woken up since ${deadAt.toISOString()}: ${DEATHS[row.dead_reason ?? ''] ?? row.dead_reason}.`,
    };
  if (row.stop_reason !== null)
    return {
      ...{ place: CUT_OFF, code: 'PUSHES_STOPPED' },
      text: `Pushes for ${row.topic} have stopped: ${SENTENCES[row.stop_reason] ?? `APNs says ${row.stop_reason}.`}`,
    };
  const next = dueAt ? { until: dueAt } : {};
  if (pushedAt && row.pushes)
    return {
      ...{ place: 'push', code: 'PUSHED', since: pushedAt, attempt: row.pushes, ...next },
      text: `The phone is asleep: it has not connected since the last push at ${pushedAt.toISOString()}.`,
    };
  if (row.failures)
    return {
      ...{ place: 'push', code: 'PUSH_NOT_ACCEPTED', attempt: row.failures, ...next },
      text: `APNs has not accepted the push${dueAt ? `; next try at ${dueAt.toISOString()}` : ''}.`,
    };
  return dueAt
    ? { place: 'push', code: 'PUSH_DUE', text: 'A push is about to be sent to the phone.' }
    : undefined;
}
