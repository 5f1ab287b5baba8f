import { BATCH_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';
import { createPruneSets } from '../../fleet/index.ts';
import { runSoon } from '../../http/run-soon.ts';
import { findNamed } from '../../searching/searching.ts';
import { createAbortedProblem } from './aborted-problem.ts';
import { createBatches } from './batches.ts';
import { createFinishBatches } from './finish-batches.ts';
import { createBatchQueries } from './queries.ts';
import { batchRoutes } from './routes.ts';
import { createSupplyBatches, SUPPLY_BATCHES } from './supply-batches.ts';

/** One action for many devices. */
export const batches: CreateFeature = (shell) => {
  const { audit, config, db, engine, fleet, log, problems, redriving, repeats, searching } = shell;
  searching.add(findNamed(engine.schema, { type: 'batch', table: 'batches', id: 'batch_id' }));
  problems.add(createAbortedProblem(engine.schema, engine.now));
  const queries = createBatchQueries(engine.schema, engine.now);
  const sets = fleet.targetSets;
  const supply = runSoon(engine, log, SUPPLY_BATCHES);
  engine.addDuty(createSupplyBatches(engine, queries, sets));
  engine.addDuty(createFinishBatches(engine, sets));
  const owner = { duty: 'prune-batches', table: 'batches', id: 'batch_id', doneAt: 'closed_at' };
  engine.addDuty(createPruneSets(engine, owner, config.MUSTER_RETENTION_DAYS));
  return {
    name: 'batches',
    errors: BATCH_ERRORS,
    routes: batchRoutes({
      audit,
      batches: createBatches({ engine, queries, redriving, sets }),
      db,
      engine,
      queries,
      repeats,
      supply,
    }),
    stop: () => supply.stop(),
  };
};
