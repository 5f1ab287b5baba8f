import { PIPELINE_ERRORS } from '@muster/contracts/words';
import { dutyRun } from '@muster/engine';
import { MusterError } from '../../errors.ts';
import type { CreateFeature } from '../../feature.ts';
import { allCalled } from '../../naming/naming.ts';
import { createAssign } from './assign.ts';
import { createChanges } from './changes.ts';
import { PIPELINE } from './channel.ts';
import { subscribeCheckins } from './checkin-handler.ts';
import { createDeviceQueries } from './device-queries.ts';
import { createDispatcher, subscribeDispatch } from './dispatch.ts';
import { createDispatchWaiting } from './dispatch-waiting.ts';
import { createExecutionQueries } from './execution-queries.ts';
import { createGraphql, graphqlRoutes } from './graphql/http.ts';
import { ReadTurns } from './graphql/read-turns.ts';
import { createReads } from './graphql/reads.ts';
import { createResolvers } from './graphql/resolvers.ts';
import { graphqlUpgrade } from './graphql/websocket.ts';
import { addOutcomes } from './outcome-effect.ts';
import { createTemplates } from './templates.ts';
import { createWithdrawCancelled } from './withdraw-cancelled.ts';

const EVERY_TEN_MINUTES = 600_000;
const MOST_PRUNED = 5_000;

/** The command pipeline: what devices are told to do, and the outcome. It knows only the database and the bus. */
export const pipeline: CreateFeature = (shell) => {
  const { bus, config, engine, fleet, log, longPolls, naming } = shell;
  const devices = createDeviceQueries(engine);
  const executions = createExecutionQueries(engine.schema, engine.now);
  const templates = createTemplates(engine.schema, engine.now);
  const timeoutMs = config.MUSTER_EXECUTION_TIMEOUT_SECONDS * 1_000;
  const dispatcher = createDispatcher({ bus, devices, engine, executions, fleet, timeoutMs });

  fleet.addStepMilestones(PIPELINE, PIPELINE);
  naming.workersOf(PIPELINE, allCalled('its vendor layer'));
  addOutcomes(engine);
  subscribeDispatch({ bus, engine, executions }, dispatcher);
  subscribeCheckins({ bus, devices, dispatcher, engine, executions });
  engine.addDuty(createDispatchWaiting(engine, bus, dispatcher));
  engine.addDuty(createWithdrawCancelled(engine, bus, executions));
  engine.addDuty({
    name: 'prune-executions',
    everyMs: EVERY_TEN_MINUTES,
    runOnce: async (client) => dutyRun(await executions.prune(client, MOST_PRUNED), MOST_PRUNED),
  });

  shell.copying.refuse(
    PIPELINE,
    () =>
      new MusterError(
        'MUSTER_NOT_COPIED',
        409,
        'Actions of the pipeline cannot be copied. Use assignAction again.',
      ),
  );

  const assign = createAssign({ devices, dispatcher, engine, executions, fleet, templates });
  const changes = createChanges({ ...shell, assign, dispatcher, templates });
  const resolvers = createResolvers({ ...shell, changes, reads: createReads(engine), templates });
  const turns = new ReadTurns(engine.db.deadlineMs);
  const yoga = createGraphql(resolvers, turns, log);
  return {
    name: 'pipeline',
    errors: PIPELINE_ERRORS,
    routes: graphqlRoutes(yoga, longPolls, shell.streamPlaces),
    upgrades: [graphqlUpgrade(yoga, shell)],
  };
};
