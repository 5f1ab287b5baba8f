import type { Queryable } from './db.ts';
import { LostAnswers } from './lost-answers.ts';
import type { Context } from './operation.ts';
import { ofRunner, rows } from './sql.ts';
import type { LostClaim } from './transition.ts';

/**
 * Claims whose answer was lost: they may be committed, now or when a stalled database goes on, and no worker has what
 * they took. Such leases are given back as soon as the database answers, and once more after it must have ended the
 * statement. If the worker has claimed again since, the lease stays: that claim repeated the hand-out.
 */
export function createLostClaims(
  context: Context,
  options: {
    readonly client: Queryable;
    release(found: { tenantId: number; actionId: string; attempt: number }): Promise<void>;
  },
): LostAnswers<LostClaim> {
  const text = statement(context.schema);
  return new LostAnswers<LostClaim>({
    async find(claims) {
      const { rows: found } = await options.client.query({
        name: 'muster_find_lost_claims',
        text,
        values: [
          claims.map((claim) => claim.tenantId),
          claims.map((claim) => claim.laneId ?? null),
          claims.map((claim) => claim.actionId ?? null),
          claims.map((claim) => claim.runnerId ?? null),
          claims.map((claim) => claim.attempt ?? null),
          claims.map((claim) => claim.worker ?? null),
          claims.map((claim) => claim.from ?? null),
          claims.map((claim) => claim.to ?? null),
        ],
      });
      for (const { tenant_id: tenantId, action_id: actionId, attempt } of found)
        await options.release({ tenantId, actionId, attempt });
      return [];
    },
    tell() {},
    tellAll() {}, // too many to remember: their leases end by themselves
  });
}

/** By what was handed out, if known; otherwise by who asked and the time its statement was given. */
const statement = (s: string) => `
  select l.tenant_id, l.action_id, l.attempt
  from ${rows(1, {
    tenant_id: 'int',
    lane_id: 'bigint',
    action_id: 'bigint',
    runner_id: 'bigint',
    attempt: 'int',
    worker: 'text',
    sent_from: 'timestamptz',
    sent_to: 'timestamptz',
  })}
  left join lateral (select a.lane_id from ${s}.actions a where a.tenant_id = i.tenant_id and a.action_id = i.action_id limit 1) a on true
  left join lateral (select p.lane_id from ${s}.pending p where p.tenant_id = i.tenant_id and p.action_id = i.action_id limit 1) p on true
  cross join lateral (
    (select * from ${s}.lanes l where i.runner_id is null and l.tenant_id = i.tenant_id and l.lane_id = coalesce(i.lane_id, p.lane_id, a.lane_id) limit 1)
    union all
    (select * from ${s}.lanes l where i.runner_id is not null and ${ofRunner(s, 'i')} offset 0)
  ) l
  where l.action_id is not null and l.redelivered = 0 and case
    when i.attempt is not null then l.action_id = i.action_id and l.attempt = i.attempt
    else l.worker = i.worker and l.leased_at between i.sent_from and i.sent_to
  end`;
