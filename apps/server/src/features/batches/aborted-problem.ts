import type { FindProblems } from '../../problems/problems.ts';

/**
 * Batches that were aborted by their rule and not retried since, found by an index of their own. After a day they are
 * no longer a problem.
 */
const MOST = 1_000;
const TOLD_FOR = `interval '1 day'`;

export function createAbortedProblem(s: string, now: () => Date): FindProblems {
  return async (client, tenantId) => {
    const { rows } = await client.query({
      name: 'muster_batches_aborted',
      text: `select b.batch_id, b.name, b.aborted_at from ${s}.batches b
        where b.tenant_id = $1 and b.aborted_at > $2::timestamptz - ${TOLD_FOR} and b.cancelled_at is null
        order by b.aborted_at desc limit ${MOST + 1}`,
      values: [tenantId, now()],
    });
    const [newest] = rows;
    if (!newest) return [];
    const name = newest.name ?? `batch ${newest.batch_id}`;
    return [
      {
        code: 'BATCHES_ABORTED',
        count: Math.min(rows.length, MOST),
        ...(rows.length > MOST ? { more: true as const } : {}),
        since: rows.at(-1).aborted_at.toISOString(),
        text: `${name}: aborted, because too many failed.`,
        example: { type: 'batch', id: newest.batch_id, name },
      },
    ];
  };
}
