import type { Stats } from '@muster/contracts';
import { type Duty, dutyRun, type Engine } from '@muster/engine';
import { httpError } from '../../http/errors.ts';

/** Rows of minutes, or of quarters of an hour made of them. */
const MOST_STEPS = 1_500;
const HOUR_MS = 3_600_000;
const KEPT_DAYS = 31;
const MOST_PRUNED = 10_000;

export interface StatsWish {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly step?: 60 | 900 | undefined;
  readonly channel?: string | undefined;
}

export function createStats({ db, now, schema: s }: Engine) {
  return {
    async read(tenantId: number, wish: StatsWish): Promise<Stats> {
      const step = wish.step ?? 60;
      const to = wish.to === undefined ? now() : new Date(wish.to);
      const from = wish.from === undefined ? new Date(to.getTime() - HOUR_MS) : new Date(wish.from);
      const steps = (to.getTime() - from.getTime()) / 1_000 / step;
      if (steps <= 0 || steps > MOST_STEPS)
        throw httpError(
          'MUSTER_BAD_QUERY',
          `From \`from\` to \`to\` there must be at most ${MOST_STEPS} steps.`,
        );
      const { rows } = await db.query({
        name: 'muster_stats',
        text: `select date_bin(make_interval(secs => $4), minute, '2000-01-01Z') as at, channel, sum(created)::int as created, sum(sent)::int as sent,
            sum(succeeded)::int as succeeded, sum(failed)::int as failed, sum(cancelled)::int as cancelled, sum(expired)::int as expired,
            (array_agg(pending order by minute desc) filter (where pending is not null))[1]::float8 as pending,
            (array_agg(running order by minute desc) filter (where running is not null))[1]::float8 as running,
            (array_agg(oldest_at order by minute desc) filter (where oldest_at is not null))[1] as oldest_at
          from ${s}.minute_counts where tenant_id = $1 and minute >= $2 and minute < $3 and ($5::text is null or channel = $5)
          group by 1, 2 order by 1, 2`,
        values: [tenantId, from, to, step, wish.channel ?? null],
      });
      const { rows: counted } = await db.query({ text: `select counted_to from ${s}.minute_counted` });
      return {
        from: from.toISOString(),
        to: to.toISOString(),
        step,
        rows: rows.map(({ at, channel, oldest_at, ...row }) => ({
          ...row,
          at: at.toISOString(),
          channel: channel === '' ? null : channel,
          oldestAt: oldest_at?.toISOString() ?? null,
        })),
        countedTo: counted[0]?.counted_to?.toISOString() ?? null,
      };
    },

    pruning: {
      name: 'prune-minutes',
      everyMs: HOUR_MS,
      async runOnce(client) {
        const { rows } = await client.query({
          text: `with old as (
              delete from ${s}.minute_counts where (tenant_id, minute, channel) in (
                select tenant_id, minute, channel from ${s}.minute_counts where minute < $1::timestamptz - make_interval(days => $2) order by minute limit $3)
              returning 1
            ) select count(*)::int as n from old`,
          values: [now(), KEPT_DAYS, MOST_PRUNED],
        });
        return dutyRun(rows[0].n, MOST_PRUNED);
      },
    } satisfies Duty,
  };
}
