import { expect, test } from 'vitest';
import { fakePc, newTask } from '../testing/fake-pc.ts';
import { listOf, taskStage } from '../testing/task-stage.ts';

const stage = taskStage();

/** An open transaction that has made this change, until it is told to commit. */
async function open(text: string, values: unknown[]): Promise<{ commit(): Promise<void> }> {
  let commit = () => {};
  const told = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const { db } = stage.t.engine;
  let over: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    over = db.transaction(async (tx) => {
      await tx.query({ text, values, tenantId: 1 });
      resolve();
      await told;
    });
    over.catch(reject);
  });
  return {
    async commit() {
      commit();
      await over;
    },
  };
}

/** Until another session waits for a lock, or the claim has its answer. */
async function waited(claim: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  claim.then(over, over);
  while (!isOver) {
    const { db } = stage.t.engine;
    const { rows } = await db.query({
      text: `select 1 from ${db.isDistributed ? 'citus_lock_waits' : 'pg_locks where not granted'} limit 1`,
    });
    if (rows.length > 0) return;
  }
}

// the look and its locks are one statement: it has seen the state before, and checks it again under the locks
test.each<[string, string]>([
  ['its PC is deleted', 'delete from muster.pcs where $1::bigint is not null and pc_id = $2'],
  [
    'the devices of the task end',
    `with t as (
        update muster.task_targets set ended = 'cancelled', reason = 'CANCELLED' where task_id = $1 and action_id is null and $2::bigint is not null returning tenant_id, task_id
      )
      insert into muster.task_counts (tenant_id, task_id, state, change, at)
        select t.tenant_id, t.task_id, y.state, y.change, now() from t cross join (values ('waiting', -1), ('cancelled', 1)) y(state, change)`,
  ],
])('a claim that waits while %s gets nothing', async (_what, change) => {
  const pc = await fakePc(stage.t, 3);
  const task = await newTask(stage.t, listOf(pc));
  await stage.pass(0);
  const other = await open(change, [task.id, pc.id]);
  const claim = pc.claim();
  await waited(claim);
  await other.commit();
  expect(await claim).toEqual([]);
  const { rows } = await stage.t.engine.db.query({
    text: 'select count(*)::int as handed_out from muster.task_targets where task_id = $1 and action_id is not null',
    values: [task.id],
  });
  expect(rows).toEqual([{ handed_out: 0 }]);
});

test('a claim that waits while its PC is deleted gets no device to be tried again either', async () => {
  const pc = await fakePc(stage.t, 1);
  await newTask(stage.t, listOf(pc), { maxAttempts: 3, retryBackoffSeconds: 1 });
  await stage.pass(0);
  for (const held of await pc.claim()) await pc.fail(held);
  await stage.pass(5_000);
  const other = await open('delete from muster.pcs where pc_id = $1', [pc.id]);
  const claim = pc.claim();
  await waited(claim);
  await other.commit();
  expect(await claim).toEqual([]);
});
