import type { Connections } from '@muster/engine';

/**
 * A commit waits for its synchronous standby without any limit, and PostgreSQL tells nobody: after a promotion, the last
 * standby is the primary and everything stands still. A session that may not read what others do still sees whether any
 * receiver is connected, and its own user's waits.
 */
const WAITS_LONG = '5 s';

/** As a sentence, or null: no standby is needed, or one confirms. */
export async function missingStandby(db: Connections): Promise<string | null> {
  const { rows } = await db.query({
    text: `select
        current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local')
          and not exists (select from pg_stat_replication where sync_state in ('sync', 'quorum') or sync_state is null) as missing,
        (select count(*)::int from pg_stat_activity
          where wait_event = 'SyncRep' and state_change < clock_timestamp() - $1::interval) as waiting`,
    values: [WAITS_LONG],
  });
  const [{ missing, waiting }] = rows as [{ missing: boolean; waiting: number }];
  if (missing)
    return 'Changes wait for a synchronous standby, and none is connected. Start one, or see "Failover" in docs/operations.md.';
  return waiting > 0
    ? `Changes wait for a synchronous standby that does not confirm them: ${waiting} for more than ${WAITS_LONG}. See "Failover" in docs/operations.md.`
    : null;
}
