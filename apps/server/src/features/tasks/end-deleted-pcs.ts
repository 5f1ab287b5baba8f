import { type Duty, dutyRun, type Engine, type Queryable } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import type { Tokens } from '../../tokens/tokens.ts';

/**
 * A deleted PC gets nothing more, but keeps its token until its running actions have ended, so its runner can report
 * them. To cut a runner off at once, revoke its token first.
 */
export const END_DELETED_PCS = 'end-deleted-pcs';
const MOST = 100;

export function createEndDeletedPcs(
  { schema: s }: Engine,
  tools: { contacts: ChannelContacts; tokens: Tokens },
): Duty & { one(client: Queryable, tenantId: number, pcId: string): Promise<void> } {
  const left = `from ${s}.tokens t
      where t.kind = 'runner' and t.revoked_at is null
        and not exists (select 1 from ${s}.pcs p where p.tenant_id = t.tenant_id and p.pc_id = t.owner)`;
  const isIdle = `exists (select 1 from ${s}.runner_loads r where r.tenant_id = t.tenant_id
      and r.runner_id = (t.restriction->>'runnerId')::bigint and r.running = 0)`;
  async function end(client: Queryable, tenantId: number, pcId: string): Promise<void> {
    await tools.tokens.revokeOf(client, tenantId, 'runner', [pcId]);
    await tools.contacts.forget(client, tenantId, pcId);
  }
  return {
    /** One PC, if all it held has ended: together with its last report instead of some seconds later. */
    async one(client, tenantId, pcId) {
      const { rows } = await client.query({
        name: 'muster_deleted_pc',
        text: `select 1 ${left} and t.tenant_id = $1 and t.owner = $2 and ${isIdle} limit 1`,
        values: [tenantId, pcId],
      });
      if (rows.length > 0) await end(client, tenantId, pcId);
    },

    name: END_DELETED_PCS,
    everyMs: 10_000,
    due: `exists (select 1 ${left})`,
    whose: `select distinct t.tenant_id from ${s}.tokens t where t.kind = 'runner' and t.revoked_at is null and $1::timestamptz is not null`,
    async runOnce(client) {
      const { rows } = await client.query({
        name: 'muster_deleted_pcs',
        text: `select distinct t.tenant_id, t.owner ${left} and ${isIdle}
          order by 1, 2 limit ${MOST}`,
      });
      for (const { tenant_id: tenantId, owner } of rows) await end(client, tenantId, owner);
      return dutyRun(rows.length, MOST);
    },
  };
}
