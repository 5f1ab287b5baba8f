import type { DeviceAction, Targets } from '@muster/contracts';
import { EngineError, type Queryable } from '@muster/engine';
import type { Assigning, AssignmentSource } from './assigning.ts';
import { days } from './milestones.ts';
import { isMeant } from './who-is-meant.ts';

/**
 * A frozen set of devices and the queueing of their actions: in chunks, each a transaction, so it continues where it
 * stopped, whatever stopped it. A caller that supplies a set must hold a lock that keeps others from doing so.
 */

/** Counts of targets: by the state of their actions, and those without one. */
export interface TargetCounts {
  /** Not queued yet. */
  readonly waiting: number;
  readonly pending: number;
  readonly sent: number;
  readonly done: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  /** No such device, or its lane is full. */
  readonly refused: number;
  /** Finished so long ago that the action was pruned. */
  readonly forgotten: number;
}

export interface Target {
  readonly n: number;
  readonly deviceId: string | null;
  readonly deviceName: string | null;
  readonly target: string | null;
  readonly error: string | null;
  readonly actionId: string | null;
  readonly state: string | null;
}

const NONE: TargetCounts = {
  waiting: 0,
  pending: 0,
  sent: 0,
  done: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  refused: 0,
  forgotten: 0,
};

const MOST_EXPIRING = 10_000;

/** In the words of this door. */
const STATE = `case when t.error is not null then 'refused' when t.action_id is null then 'waiting'
        when x.action_id is null then 'forgotten' when x.state = 'claimed' then 'sent' when x.state = 'succeeded' then 'done'
        else x.state end`;

export type TargetSets = ReturnType<typeof createTargetSets>;

export function createTargetSets(s: string, assigning: Assigning) {
  const joined = `${s}.targets t left join ${s}.action_states x on x.tenant_id = t.tenant_id and x.action_id = t.action_id`;

  async function insert(client: Queryable, tenantId: number, source: string, value: unknown) {
    const { rows } = await client.query({
      text: `with made as (
          select nextval('${s}.target_set_seq') as set_id
        ), filled as (
          insert into ${s}.targets (tenant_id, set_id, n, device_id, target, error)
            select $1, made.set_id, row_number() over (order by x.ord), x.device_id, x.target, x.error
            from made cross join (${source}) x
            returning 1
        )
        insert into ${s}.target_sets (tenant_id, set_id, total)
          select $1, made.set_id, (select count(*) from filled) from made returning set_id, total`,
      values: value === undefined ? [tenantId] : [tenantId, value],
    });
    return { setId: rows[0].set_id as string, total: rows[0].total as number };
  }

  return {
    /** Freezes the distinct devices that are selected now, in one statement of the caller's transaction. */
    async freeze(
      client: Queryable,
      tenantId: number,
      wanted: Targets,
    ): Promise<{ setId: string; total: number }> {
      const meant = (said: { all: string; tags: string }) =>
        `select d.device_id as ord, d.device_id, null::text as target, null::text as error from ${s}.devices d
          where d.tenant_id = $1 and ${isMeant('d', said)}`;
      if ('all' in wanted) return insert(client, tenantId, meant({ all: 'true', tags: 'null' }), undefined);
      if ('tags' in wanted)
        return insert(client, tenantId, meant({ all: 'false', tags: '$2::text[]' }), wanted.tags);
      return insert(
        client,
        tenantId,
        `select i.ord, d.device_id, case when d.device_id is null then i.text end as target,
            case when d.device_id is null then 'UNKNOWN_DEVICE' end as error
          from (select u.text, min(u.ord) as ord from unnest($2::text[]) with ordinality u(text, ord) group by u.text) i
          left join ${s}.devices d on d.tenant_id = $1 and d.deleted_at is null
            and d.device_id = case when i.text ~ '^[1-9][0-9]{0,17}$' then i.text::bigint end`,
        wanted.deviceIds,
      );
    },

    /**
     * Freezes the devices among these that come within this many days of their expiry, each once per subject and expiry
     * value: inserting a notice decides, so two concurrent calls share them. Null: none.
     */
    async freezeExpiring(
      client: Queryable,
      tenantId: number,
      asked: { subject: string; days: number; wanted: Targets; now: Date },
    ): Promise<{ setId: string; total: number } | null> {
      const { subject, wanted } = asked;
      const { rows } = await client.query({
        text: `insert into ${s}.expiry_notices (tenant_id, subject, device_id, expires_at)
          select d.tenant_id, $3, d.device_id, d.expires_at from ${s}.devices d
          where d.tenant_id = $2 and d.expires_at > $1::timestamptz and d.expires_at <= $1::timestamptz + ${days('$4::int')}
            and d.deleted_at is null and (${isMeant('d', { all: '$7::boolean', tags: '$5::text[]' })} or d.device_id::text = any($6::text[]))
            and not exists (select 1 from ${s}.expiry_notices x where x.tenant_id = d.tenant_id and x.subject = $3
              and x.device_id = d.device_id and x.expires_at = d.expires_at)
          order by d.device_id limit ${MOST_EXPIRING}
          on conflict do nothing returning device_id`,
        values: [
          asked.now,
          tenantId,
          subject,
          asked.days,
          'tags' in wanted ? wanted.tags : null,
          'deviceIds' in wanted ? wanted.deviceIds : null,
          'all' in wanted,
        ],
      });
      if (rows.length === 0) return null;
      return insert(
        client,
        tenantId,
        `select i.device_id as ord, i.device_id, null::text as target, null::text as error from unnest($2::bigint[]) i(device_id)`,
        rows.map((row) => row.device_id),
      );
    },

    /** Queues the actions of the next targets. Returns how many targets were handled: fewer than `most` means all. */
    async supply(
      client: Queryable,
      from: AssignmentSource,
      setId: string,
      action: DeviceAction,
      most: number,
    ): Promise<{ supplied: number; dealtWith: number }> {
      const { tenantId } = from;
      const { rows } = await client.query({
        text: `select t.n, t.device_id, d.lane_id from ${s}.targets t
          left join lateral (
            select d.lane_id from ${s}.devices d where d.tenant_id = t.tenant_id and d.device_id = t.device_id and d.deleted_at is null limit 1
          ) d on true
          where t.tenant_id = $1 and t.set_id = $2 and t.action_id is null and t.error is null order by t.n limit $3`,
        values: [tenantId, setId, most],
      });
      if (rows.length === 0) return { supplied: 0, dealtWith: 0 };
      const there = rows.filter((row) => row.lane_id !== null);
      const answers = await assigning.assign(
        client,
        from,
        there.map((row) => ({ deviceId: row.device_id, laneId: row.lane_id })),
        action,
      );
      const outcome = new Map(there.map((row, n) => [row.n, answers[n]]));
      const idOf = (n: number) => {
        const answer = outcome.get(n);
        return answer && typeof answer === 'object' && !(answer instanceof EngineError) ? answer.id : null;
      };
      const errorOf = (n: number) => {
        const answer = outcome.get(n);
        if (!answer) return 'DEVICE_DELETED';
        if (typeof answer === 'string') return answer;
        return answer instanceof EngineError ? answer.code.replace('MUSTER_', '') : null;
      };
      await client.query({
        text: `update ${s}.targets t set action_id = i.action_id, error = i.error
          from (
            select $1::int as tenant_id, * from unnest((select $3::int[]), (select $4::bigint[]), (select $5::text[])) i(n, action_id, error) offset 0
          ) i
          where t.tenant_id = any(array[i.tenant_id]) and t.set_id = $2 and t.n = i.n`,
        values: [
          tenantId,
          setId,
          rows.map((row) => row.n),
          rows.map((row) => idOf(row.n)),
          rows.map((row) => errorOf(row.n)),
        ],
      });
      return { supplied: rows.filter((row) => idOf(row.n) !== null).length, dealtWith: rows.length };
    },

    /** Exact at this moment; their sum is the size of the set. */
    async counts(
      client: Queryable,
      tenantId: number,
      setIds: readonly string[],
    ): Promise<Map<string, TargetCounts>> {
      const { rows } = await client.query({
        text: `select t.set_id, ${STATE} as state, count(*)::int as count from ${joined}
          where t.tenant_id = $1 and t.set_id = any($2::bigint[]) group by 1, 2`,
        values: [tenantId, setIds],
      });
      const counts = new Map<string, TargetCounts>(setIds.map((setId) => [setId, NONE]));
      for (const { set_id, state, count } of rows)
        counts.set(set_id, { ...(counts.get(set_id) ?? NONE), [state]: count });
      return counts;
    },

    async list(
      client: Queryable,
      tenantId: number,
      setId: string,
      page: { state?: string | undefined; after: number; limit: number },
    ): Promise<Target[]> {
      const { rows } = await client.query({
        text: `select t.*, d.name from (
            select t.n, t.device_id, t.target, t.error, t.action_id, ${STATE} as state from ${joined}
            where t.tenant_id = $1 and t.set_id = $2 and t.n > $3 and ($4::text is null or ${STATE} = $4) order by t.n limit $5
          ) t
          left join lateral (select d.name from ${s}.devices d where d.tenant_id = $1 and d.device_id = t.device_id limit 1) d on true
          order by t.n`,
        values: [tenantId, setId, page.after, page.state ?? null, page.limit],
      });
      return rows.map((row) => ({
        n: row.n,
        deviceId: row.device_id,
        deviceName: row.name,
        target: row.target,
        error: row.error,
        actionId: row.action_id,
        state: row.state,
      }));
    },

    /** The next actions of a set in one of these states, in the engine's words. */
    async actionsIn(
      client: Queryable,
      tenantId: number,
      setId: string,
      states: readonly string[],
      most: number,
    ): Promise<string[]> {
      const { rows } = await client.query({
        text: `select x.action_id from ${s}.targets t
          join ${s}.action_states x on x.tenant_id = t.tenant_id and x.action_id = t.action_id
          where t.tenant_id = $1 and t.set_id = $2 and x.state = any($3::text[]) order by t.n limit $4`,
        values: [tenantId, setId, states, most],
      });
      return rows.map((row) => row.action_id);
    },

    /**
     * The next dead letters of a set whose devices exist; the others stay dead letters. The redrive locks the devices
     * and checks again.
     */
    async deadLetters(
      client: Queryable,
      tenantId: number,
      setId: string,
      page: { after: number; limit: number },
    ): Promise<{ n: number; actionId: string }[]> {
      const { rows } = await client.query({
        text: `select t.n, x.action_id from ${s}.targets t
          join ${s}.action_states x on x.tenant_id = t.tenant_id and x.action_id = t.action_id
          join ${s}.devices d on d.tenant_id = t.tenant_id and d.device_id = t.device_id and d.deleted_at is null
          where t.tenant_id = $1 and t.set_id = $2 and t.n > $3 and x.state = 'failed' order by t.n limit $4`,
        values: [tenantId, setId, page.after, page.limit],
      });
      return rows.map((row) => ({ n: row.n, actionId: row.action_id }));
    },

    /**
     * The first target after `after`, among the next ones, that has not ended. Targets that a stopped set never queued
     * have ended.
     */
    async firstOpen(
      client: Queryable,
      tenantId: number,
      setId: string,
      { after, chunk, isStopped }: { after: number; chunk: number; isStopped: boolean },
    ): Promise<number | null> {
      const { rows } = await client.query({
        name: 'muster_first_open_target',
        text: `select t.n from ${s}.targets t
          left join lateral (
            select 1 as one from ${s}.unfinished_actions u where u.tenant_id = t.tenant_id and u.action_id = t.action_id limit 1
          ) u on true
          where t.tenant_id = $1 and t.set_id = $2 and t.n > $3 and t.n <= $3 + $4::int and t.error is null
            and (u.one is not null or (t.action_id is null and not $5))
          order by t.n limit 1`,
        values: [tenantId, setId, after, chunk, isStopped],
      });
      return rows[0]?.n ?? null;
    },

    /** Those that were never queued. */
    async unsupplied(client: Queryable, tenantId: number, setId: string): Promise<number> {
      const { rows } = await client.query({
        text: `select count(*)::int as many from ${s}.targets t
          where t.tenant_id = $1 and t.set_id = $2 and t.action_id is null and t.error is null`,
        values: [tenantId, setId],
      });
      return rows[0].many;
    },

    /** Targets whose actions never reached their device are supplied again, with a new action. */
    async supplyAgain(client: Queryable, tenantId: number, setId: string): Promise<number> {
      const { rows } = await client.query({
        text: `update ${s}.targets t set action_id = null, error = null
          where t.tenant_id = $1 and t.set_id = $2 and (t.error in ('LANE_FULL', 'LANE_BUSY') or exists (
            select 1 from ${s}.action_states x where x.tenant_id = t.tenant_id and x.action_id = t.action_id
              and x.state in ('expired', 'cancelled') and x.attempt = 0))
          returning 1`,
        values: [tenantId, setId],
      });
      return rows.length;
    },
  };
}
