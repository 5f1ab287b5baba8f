import { WORKFLOW_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';
import { createPruneNotices, createPruneSets } from '../../fleet/index.ts';
import { runSoon } from '../../http/run-soon.ts';
import { findNamed } from '../../searching/searching.ts';
import { createBeginRuns, createSupplyRuns, SUPPLY_RUNS } from './duties.ts';
import { createMissedProblem } from './missed-problem.ts';
import { createWorkflowQueries } from './queries.ts';
import { workflowRoutes } from './routes.ts';

/** Actions on a schedule. */
export const workflows: CreateFeature = (shell) => {
  const { audit, config, engine, fleet, log, problems, repeats, searching } = shell;
  problems.add(createMissedProblem(engine.schema));
  searching.add(
    findNamed(engine.schema, {
      type: 'workflow',
      table: 'workflows',
      id: 'workflow_id',
      where: 'x.deleted_at is null',
    }),
  );
  const tools = { engine, queries: createWorkflowQueries(engine.schema), sets: fleet.targetSets };
  const supply = runSoon(engine, log, SUPPLY_RUNS);
  fleet.nameRuns(tools.queries.workflowsOfRuns);
  engine.addDuty(createBeginRuns(tools));
  engine.addDuty(createSupplyRuns(tools));
  const owner = { duty: 'prune-workflow-runs', table: 'workflow_runs', id: 'run_id', doneAt: 'supplied_at' };
  engine.addDuty(createPruneSets(engine, owner, config.MUSTER_RETENTION_DAYS));
  engine.addDuty(createPruneNotices(engine));
  return {
    name: 'workflows',
    errors: WORKFLOW_ERRORS,
    routes: workflowRoutes({ ...tools, audit, refuseUnknown: fleet.refuseUnknown, repeats, supply }),
    stop: () => supply.stop(),
  };
};
