import type { Queryable } from '@muster/engine';
import { laterBy } from '../../../database/later-by.ts';
import { PROFILE_IDENTIFIER } from '../profile.ts';
import { ERASE } from '../written-commands.ts';

/** A report of a phone. */
export interface Said {
  readonly tenantId: number;
  /** Null: it could not be read; the certificate tells which phone it is. */
  readonly udid: string | null;
  /** The hash of its certificate. */
  readonly hash: string;
  readonly status: 'Idle' | 'Acknowledged' | 'Error' | 'CommandFormatError' | 'NotNow';
  readonly commandUuid: string | null;
  /** It starts a new session: what it refused in the last one it may accept now. */
  readonly begins: boolean;
}

/** The command it reported on. */
export interface Answered {
  readonly source: 'bus' | 'lane' | 'own';
  readonly requestType: string;
  readonly actionId: string | null;
  readonly attempt: number | null;
  /** Doing it removes the profile of the enrolment, so the phone leaves. */
  readonly isToLeave: boolean;
}

export interface NextCommand {
  readonly commandUuid: string;
  readonly requestType: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly source: Answered['source'];
  /** It was handed out before, and the phone has not answered. */
  readonly again: boolean;
  /** The phone has refused it for now. */
  readonly wasRefused: boolean;
  /** For the command that needs it. */
  readonly sealedUnlockToken: Buffer | null;
}

/** Null: this certificate does not belong to that phone. */
export type Settled = null | {
  readonly udid: string;
  readonly deviceId: string;
  readonly laneId: string;
  readonly isReleased: boolean;
  /** It has begun a new life, and may have commands of its lane from this generation on. */
  readonly awaitedGeneration: number | null;
  /** Null: the command is unknown, or was answered before. */
  readonly answered: Answered | null;
  readonly next: NextCommand | null;
  /** Actions of its lane that it has refused for now, except the reported one: they come after everything else. */
  readonly refused: readonly string[];
  /** Those among them that it has refused in this session. */
  readonly aside: readonly string[];
  /** There is nothing for it, and no message was sent lately that it is here. */
  readonly isNews: boolean;
  /** The version of the pending push, as of this look; null: none. */
  readonly want: string | null;
};

const NOW = '$1::timestamptz';
/** DEVICE_CONNECTED is sent at most this often. */
const NEWS_EVERY = `interval '30 seconds'`;
/**
 * A phone that refused, or came again without having done its command, is called after 30 s, 2, 8, 30 min, then daily,
 * like one that does not come. Whatever it reports until then is the same refusal, except about another command.
 */
export const calledAgain = (
  refusals: string,
) => `case when ${refusals} = 0 then interval '30 seconds' when ${refusals} = 1 then interval '2 minutes'
  when ${refusals} = 2 then interval '8 minutes' when ${refusals} = 3 then interval '30 minutes' else interval '1 day' end`;

/**
 * A whole report in one statement, for many phones at once: which phone it is, the outcome of its command, and the next
 * command. A command ends once: later reports about it change nothing. Commands that were never answered go before
 * those refused for now, which come once in a session at most: a phone asks again by itself only if a refusal was its
 * last report. Which commands it has refused in this session is in their rows, so a restarted server knows too.
 *
 * The statement sees the commands as they were before it, so each phone may be in it once, and the reported command is
 * not looked at again. No two of its parts are joined: as nothing tells the planner how many phones there are, it would
 * compare each with each (a third of the statement with a hundred phones). So the outcomes are rows of their own.
 *
 * A phone that comes is removed from the ledger of pushes. If it was in it, or gets a command, it is watched from here
 * on (`watch-phones.ts`), so no phone with unfinished work is without both a push and a watch.
 */
export function createSettle(s: string, now: () => Date) {
  const text = `with given as (
      select g.* from unnest((select $2::int[]), (select $3::text[]), (select $4::text[]), (select $5::text[]), (select $6::text[]), (select $7::boolean[]))
        with ordinality as g(tenant_id, udid, hash, status, command_uuid, begins, n)
    ), who as materialized (
      select g.n, g.tenant_id, g.status, g.command_uuid, g.begins, d.udid, d.device_id, d.lane_id, d.released_at, d.connected_at, d.call_after,
        d.awaited_generation, l.want, e.is_spared, x.command_uuid as next_uuid, x.request_type, x.payload, x.source, x.fetched_at, x.not_now_at,
        case when x.request_type = 'ClearPasscode' then d.sealed_unlock_token end as sealed_unlock_token,
        d.released_at is null and g.status <> 'NotNow' and x.command_uuid is null
          and (d.connected_at is null or d.connected_at <= $1::timestamptz - ${NEWS_EVERY}) as is_news
      from given g
      cross join lateral (
        select c.udid from ${s}.mdm_certificates c where c.tenant_id = g.tenant_id and c.hash = g.hash limit 1
      ) c
      cross join lateral (
        select * from ${s}.mdm_devices d where d.tenant_id = g.tenant_id and d.udid = c.udid limit 1
      ) d
      left join lateral (
        select l.want from ${s}.push_ledger l where l.tenant_id = g.tenant_id and l.device_id = d.device_id limit 1
      ) l on true
      left join lateral (
        select true as is_spared from ${s}.mdm_commands m
        where g.status <> 'Acknowledged' and m.tenant_id = g.tenant_id and m.udid = d.udid and m.command_uuid = g.command_uuid
          and m.answered_at is null and m.request_type = '${ERASE}' limit 1
      ) e on true
      left join lateral (
        select * from ${s}.mdm_commands m
        where m.tenant_id = g.tenant_id and m.udid = d.udid and m.closed_at is null and ${s}.sought_by(m.seq) and d.released_at is null
          and (m.expires_at is null or m.expires_at > $1::timestamptz)
          and m.command_uuid is distinct from g.command_uuid and (g.begins or not m.aside)
          and (select 1 from ${s}.withdrawn_commands b where b.tenant_id = m.tenant_id and b.command_uuid = m.command_uuid limit 1) is null
        order by m.not_now_at nulls first, m.seq limit 1
      ) x on true
      where g.udid is null or g.udid = c.udid
    ), told as (
      update ${s}.mdm_commands m set status = w.status,
        not_now_at = case when w.status = 'NotNow' then $1::timestamptz else m.not_now_at end, aside = w.status = 'NotNow',
        fetched_at = coalesce(m.fetched_at, $1::timestamptz),
        closed_at = case when w.status = 'NotNow' or m.source = 'lane' then m.closed_at else coalesce(m.closed_at, $1::timestamptz) end,
        answered_at = case when w.status = 'NotNow' or m.source = 'lane' then m.answered_at else $1::timestamptz end
      from who w
      where m.tenant_id = any(array[w.tenant_id]) and m.udid = w.udid and m.command_uuid = w.command_uuid and m.answered_at is null
      returning w.n, m.source, m.action_id, m.attempt, m.request_type,
        m.request_type = 'RemoveProfile' and m.payload->>'Identifier' = '${PROFILE_IDENTIFIER}' as is_to_leave
    ), begun as (
      update ${s}.mdm_commands m set aside = false
      from (
        select w.tenant_id, w.udid, r.command_uuid from who w cross join lateral (
          select r.command_uuid from ${s}.mdm_commands r
          where w.begins and r.tenant_id = w.tenant_id and r.udid = w.udid and r.status = 'NotNow' and ${s}.sought_by(r.udid) and r.aside offset 0
        ) r
      ) b
      where m.tenant_id = any(array[b.tenant_id]) and m.udid = b.udid and m.command_uuid = b.command_uuid
    ), fetched as (
      update ${s}.mdm_commands m set fetched_at = $1::timestamptz from who w
      where w.next_uuid is not null and w.fetched_at is null
        and m.tenant_id = any(array[w.tenant_id]) and m.udid = w.udid and m.command_uuid = w.next_uuid and m.fetched_at is null
    ), came as (
      select w.tenant_id, w.udid, w.is_news, w.want is not null as was_wanted, w.next_uuid is not null as is_given,
        w.next_uuid is not null and w.fetched_at is null as is_new,
        (w.status = 'NotNow' or (w.status = 'Idle' and w.fetched_at is not null))
          and (w.call_after is null or w.call_after <= $1::timestamptz) as is_refusal,
        w.status <> 'NotNow' and w.command_uuid is not null as is_done,
        coalesce(w.request_type = '${ERASE}', false) as is_erase, coalesce(w.is_spared, false) as is_spared
      from who w where w.released_at is null
    ), news as (
      update ${s}.mdm_devices d set connected_at = case when w.is_news then $1::timestamptz else d.connected_at end,
        watched_at = case when w.was_wanted or w.is_refusal or (w.is_given and d.watched_at is null) then $1::timestamptz else d.watched_at end,
        call_after = case when w.is_new then null when w.is_refusal then ${laterBy(NOW, calledAgain('d.refusals'))} when w.is_done then null else d.call_after end,
        refusals = case when w.is_refusal then d.refusals + 1 when w.is_done then 0 else d.refusals end,
        erased_at = case when w.is_erase then $1::timestamptz when w.is_spared then null else d.erased_at end
      from came w
      where d.tenant_id = any(array[w.tenant_id]) and d.udid = w.udid
        and (w.is_news or w.was_wanted or w.is_refusal or (w.is_given and d.watched_at is null) or (w.is_done and d.refusals > 0)
          or (w.is_new and d.call_after is not null) or w.is_erase or w.is_spared)
    )
    select w.n::int, w.udid, w.device_id, w.lane_id, w.released_at, w.awaited_generation, w.want, w.next_uuid as command_uuid, w.request_type, w.payload,
      w.source, w.fetched_at, w.not_now_at, f.refused, f.aside, w.sealed_unlock_token, w.is_news,
      null::bigint as action_id, null::int as attempt, null::boolean as is_to_leave
    from who w
    left join lateral (
      select coalesce(array_agg(m.action_id), '{}') as refused,
        coalesce(array_agg(m.action_id) filter (where m.aside and not w.begins), '{}') as aside
      from ${s}.mdm_commands m
      cross join lateral (
        select 1 from ${s}.unfinished_actions u where u.tenant_id = m.tenant_id and u.action_id = m.action_id limit 1
      ) u
      where m.tenant_id = w.tenant_id and m.udid = w.udid and m.status = 'NotNow' and ${s}.sought_by(m.udid) and m.source = 'lane'
        and m.command_uuid is distinct from w.command_uuid
    ) f on true
    union all
    select t.n::int, null, null, null, null, null, null, null, t.request_type, null, t.source, null, null, null, null, null, null, t.action_id, t.attempt, t.is_to_leave
    from told t`;

  /** One answer per item, in order. */
  return async (client: Queryable, said: readonly Said[]): Promise<Settled[]> => {
    const { rows } = await client.query({
      name: 'muster_mdm_settle',
      text,
      values: [
        now(),
        said.map((one) => one.tenantId),
        said.map((one) => one.udid),
        said.map((one) => one.hash),
        said.map((one) => one.status),
        said.map((one) => one.commandUuid),
        said.map((one) => one.begins),
      ],
    });
    const answered = new Map<number, Answered>();
    for (const row of rows) if (row.udid === null) answered.set(row.n, answeredOf(row));
    const settled: Settled[] = said.map(() => null);
    for (const row of rows)
      if (row.udid !== null) settled[row.n - 1] = settledOf(row, answered.get(row.n) ?? null);
    return settled;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
function answeredOf(row: any): Answered {
  return {
    source: row.source,
    requestType: row.request_type,
    actionId: row.action_id,
    attempt: row.attempt,
    isToLeave: row.is_to_leave,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the statement above
function settledOf(row: any, answered: Answered | null): NonNullable<Settled> {
  return {
    udid: row.udid,
    deviceId: row.device_id,
    laneId: row.lane_id,
    isReleased: row.released_at !== null,
    awaitedGeneration: row.awaited_generation,
    want: row.want,
    isNews: row.is_news,
    refused: row.refused,
    aside: row.aside,
    answered,
    next:
      row.command_uuid === null
        ? null
        : {
            commandUuid: row.command_uuid,
            requestType: row.request_type,
            payload: row.payload,
            source: row.source,
            again: row.fetched_at !== null,
            wasRefused: row.not_now_at !== null,
            sealedUnlockToken: row.sealed_unlock_token,
          },
  };
}
