import type { CreateFeature } from '../../feature.ts';
import { runSoon } from '../../run-soon.ts';
import { targetSetsOf } from '../devices/index.ts';
import { createBeginRuns, createSupplyRuns, SUPPLY_RUNS } from './duties.ts';
import { WORKFLOW_ERRORS } from './errors.ts';
import { createWorkflowQueries } from './queries.ts';
import { workflowRoutes } from './routes.ts';

/** Actions that come by themselves, at their time. */
export const workflows: CreateFeature = (shell) => {
  const { audit, engine, log } = shell;
  const tools = { engine, queries: createWorkflowQueries(engine.schema), sets: targetSetsOf(shell) };
  const supply = runSoon(engine, log, SUPPLY_RUNS);
  engine.addDuty(createBeginRuns(tools));
  engine.addDuty(createSupplyRuns(tools));
  return {
    name: 'workflows',
    errors: WORKFLOW_ERRORS,
    routes: workflowRoutes({ ...tools, audit, supply }),
    stop: () => supply.stop(),
  };
};
