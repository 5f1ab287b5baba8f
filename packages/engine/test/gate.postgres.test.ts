import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownQuery } from '../src/drivers/own-query.ts';
import { withScene } from '../testing/scene.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('a statement is stopped and sabotaged also in a process that knew another text of it first', async () => {
  ownQuery({ name: 'muster_acknowledge', text: 'select 1' });
  let sabotaged = 0;
  const count = (sql: string) => {
    sabotaged += 1;
    return `${sql} `;
  };
  await withScene(database, { muster_acknowledge: count }, async (scene) => {
    const { engine, tenantId, gate } = scene;
    const laneId = await scene.lane();
    const actionId = await scene.enqueue(laneId);
    await scene.claim(laneId, 'a');
    const { db } = await scene.session();
    await gate.close();
    const said = engine.acknowledge(gate.before(db, 'muster_acknowledge'), {
      tenantId,
      actionId,
      attempt: 1,
    });
    await gate.reached(said);
    await gate.open();
    expect(await said).toBe(true);
  });
  expect(sabotaged).toBeGreaterThan(0);
});

test('a call that ends without a statement at the gate fails at once, with its own error if it has one', async () => {
  await withScene(database, {}, async ({ gate }) => {
    await gate.close();
    await expect(gate.reached(Promise.resolve())).rejects.toThrow('without a statement at the gate');
    await expect(gate.reached(Promise.reject(new Error('its own')))).rejects.toThrow('its own');
  });
});
