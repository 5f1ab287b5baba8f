import type { Engine, Queryable } from '@muster/engine';

/**
 * Phones with unfinished work that no push will ever announce: they are neither in the ledger nor watched. There must be none at any
 * moment, whatever was committed last. Commands queued without a push are not part of these tests.
 */
export async function nobodyCalls(client: Queryable, s: Engine['schema']): Promise<string[]> {
  const { rows } = await client.query({
    text: `select d.device_id from ${s}.mdm_devices d
      where d.released_at is null and d.enrolled_at is not null and d.watched_at is null
        and not exists (select 1 from ${s}.push_ledger l where l.tenant_id = d.tenant_id and l.device_id = d.device_id)
        and (
          exists (select 1 from ${s}.unfinished_actions u where u.tenant_id = d.tenant_id and u.lane_id = d.lane_id and u.channel = 'mdm')
          or exists (select 1 from ${s}.mdm_commands m where m.tenant_id = d.tenant_id and m.udid = d.udid and m.closed_at is null)
          -- what awaits its first dispatch leads to a push with it
          or exists (
            select 1 from ${s}.unfinished_actions u where u.tenant_id = d.tenant_id and u.lane_id = d.lane_id and u.channel = 'pipeline'
              and not exists (
                select 1 from ${s}.executions e
                where e.tenant_id = u.tenant_id and e.action_id = u.action_id and e.dispatched_at is null and e.ended_at is null
              )
          )
        )`,
  });
  return rows.map((row) => row.device_id);
}
