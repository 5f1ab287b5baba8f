// Enqueues into an embedded database in a folder and prints each acknowledged id, until it is killed.
// embedded.pglite.test.ts starts it as a separate process, from the build.
import { createEngine, createMigrate, ENGINE_LINE, openEmbedded } from '../dist/index.js';

const db = await openEmbedded({ dataDir: process.argv[2] ?? '', image: process.argv[3] ?? '' });
await createMigrate(db, { schema: 'muster', lines: [ENGINE_LINE] }).up();
const engine = createEngine(db);
const laneId = await engine.ensureLane(db, 1, 'crash', 'lane');
for (;;) {
  const { id } = await engine.enqueue(db, {
    tenantId: 1,
    laneId: await engine.ensureLane(db, 1, 'crash', `lane ${Math.random()}`),
    kind: 'x',
    payload: 'y'.repeat(2_000),
  });
  process.stdout.write(`${id} ${laneId}\n`);
}
