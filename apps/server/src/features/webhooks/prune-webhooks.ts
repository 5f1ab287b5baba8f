import { type Duty, dutyRun, type Engine } from '@muster/engine';

const MOST = 1_000;
const DAY_MS = 86_400_000;

/** The log is kept a day longer than the actions, so it never has less than they do. */
export function pruneWebhooks({ schema: s, now }: Engine, retentionDays: number): Duty {
  const tables = [
    { name: 'webhook_deliveries', at: 'created_at', key: 'action_id' },
    { name: 'webhook_tries', at: 'at', key: 'attempt' },
  ];
  return {
    name: 'prune-webhooks',
    everyMs: 60_000,
    byIndex: true,
    async runOnce(client) {
      const before = new Date(now().getTime() - (retentionDays + 1) * DAY_MS);
      let most = 0;
      for (const { at, key, name } of tables) {
        const { rows } = await client.query({
          text: `with old as materialized (
              select * from ${s}.${name} d where d.${at} < $1::timestamptz ${unlessOpen(s, name)} order by d.${at} limit ${MOST} for update of d skip locked
            ), gone as (
              delete from ${s}.${name} d using old
              where d.tenant_id = any(array[old.tenant_id]) and d.action_id = old.action_id and d.${key} = old.${key}
            )
            select count(*)::int as n from old`,
          values: [before],
        });
        most = Math.max(most, rows[0].n);
      }
      return dutyRun(most, MOST);
    },
  };
}

/** Deliveries that wait for a paused endpoint stay in the log, however old they are. */
const unlessOpen = (s: string, name: string) =>
  name === 'webhook_deliveries'
    ? `and not exists (select 1 from ${s}.unfinished_actions u where u.tenant_id = d.tenant_id and u.action_id = d.action_id)`
    : '';
