import type { Queryable } from '../db.ts';
import type { Context } from '../operation.ts';
import { NOW } from '../sql.ts';
import { type Duty, dutyRun } from './duty.ts';

/** Makes the history's partitions a week ahead and drops expired ones. */
const DAYS_AHEAD = 7;

export function createKeepDays(context: Context, retentionDays: number): Duty {
  const s = context.schema;
  return {
    name: 'keep-days',
    everyMs: 600_000,
    whose: null,
    async runOnce(client) {
      await makeDays(context, client);
      // An action is pruned `retentionDays` after its end; a day later nothing of that day is read any more.
      const { rows } = await client.query({
        text: `select ${s}.drop_event_days(((${NOW} - ($2::int + 1) * interval '1 day') at time zone 'UTC')::date) as dropped`,
        values: [context.now(), retentionDays],
      });
      return dutyRun(rows[0].dropped, Number.POSITIVE_INFINITY);
    },
  };
}

/**
 * Without a partition for its day every write fails, so this also runs at the start and when a write reports it.
 * `missed` is the time without a partition; it may be in the past, for a SENT that was not written down when it was
 * sent.
 */
export async function makeDays(context: Context, client: Queryable, missed = ''): Promise<void> {
  const s = context.schema;
  const today = `(${NOW} at time zone 'UTC')::date`;
  const day = `(coalesce(nullif($2, '')::timestamptz, ${NOW}) at time zone 'UTC')::date`;
  await client.query({
    text: `select ${s}.ensure_event_days(${today} - 1, ${today} + ${DAYS_AHEAD}), ${s}.ensure_event_days(${day}, ${day})`,
    values: [context.now(), missed],
  });
}
