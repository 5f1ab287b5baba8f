import type { FindProblems } from '../../problems/problems.ts';

/** Paused endpoints, the dead ones first. A tenant has a hundred webhooks at most. */
export function createPausedProblem(s: string): FindProblems {
  return async (client, tenantId) => {
    const { rows } = await client.query({
      name: 'muster_webhooks_paused',
      text: `select w.webhook_id, coalesce(w.name, w.url) as name, w.paused_at, w.paused_reason from ${s}.webhooks w
        where w.tenant_id = $1 and w.paused_at is not null order by w.paused_by = 'failures' desc, w.paused_at, w.webhook_id`,
      values: [tenantId],
    });
    const [first] = rows;
    if (!first) return [];
    return [
      {
        code: 'WEBHOOKS_PAUSED',
        count: rows.length,
        since: first.paused_at.toISOString(),
        text: `${first.name}: ${first.paused_reason}`,
        example: { type: 'webhook', id: first.webhook_id, name: first.name, error: first.paused_reason },
      },
    ];
  };
}
