import { afterAll, afterEach, beforeAll } from 'vitest';
import type { FakePc, Held } from './fake-pc.ts';
import { type TestServer, type TestServerOptions, testServer } from './test-server.ts';

/** One server for all tests of a file about tasks. They share a tenant, so no test leaves an unfinished task behind. */
export const MINUTE = 60_000;

export interface TaskStage {
  readonly t: TestServer;
  /** Time passes and housekeeping runs, that of tasks too. */
  pass(ms: number): Promise<void>;
}

export function taskStage(options: TestServerOptions = {}): TaskStage {
  let t: TestServer | undefined;
  const stage: TaskStage = {
    get t() {
      return t as TestServer;
    },
    async pass(ms) {
      await stage.t.pass(ms);
      const { db } = stage.t.engine;
      // The server advances tasks on its own after reports: wait until it is done, then do the rest.
      for (let idle = 0; idle < 2; ) {
        await db.transaction((tx) =>
          tx.query({
            text: `select 1 from muster.task_lines where tenant_id = $1 and part = 'advance' for update`,
            values: [1],
          }),
        );
        idle = (await stage.t.engine.runDuty('advance-tasks')) > 0 ? 0 : idle + 1;
      }
    },
  };
  beforeAll(async () => {
    t = await testServer({ clock: true, ...options });
  });
  afterEach(async () => {
    const { body } = await stage.t.get('/api/tasks?limit=500');
    for (const { id, endedAt } of body.tasks)
      if (endedAt === null) await stage.t.post(`/api/tasks/${id}/cancel`);
    await stage.pass(20 * MINUTE);
  });
  afterAll(() => stage.t.close());
  return stage;
}

export const deviceIds = (held: readonly Held[]) => held.map(({ deviceId }) => deviceId);
export const listOf = (...pcs: readonly FakePc[]) => ({
  deviceIds: pcs.flatMap((pc) => pc.devices.map(({ id }) => id)),
});
/** Waits until a waiting request has reached the server. */
export async function parked({ t }: TaskStage, count = 1): Promise<void> {
  while (t.engine.parkedWaiters < count) await new Promise((resolve) => setImmediate(resolve));
}
