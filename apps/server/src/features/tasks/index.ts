import { TASK_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';
import { createHandOut } from '../../http/hand-out.ts';
import { runSoon } from '../../http/run-soon.ts';
import { namesById, namesOfWorkers } from '../../naming/names-by-id.ts';
import { findNamed } from '../../searching/searching.ts';
import { createAdvanceQueries } from './advance-queries.ts';
import { ADVANCE_TASKS, createAdvance } from './advance-tasks.ts';
import { createClaimable } from './claimable.ts';
import { createClaiming } from './claiming.ts';
import { countTransitions } from './counting.ts';
import { createDeletedPcs } from './deleted-pcs.ts';
import { createEndDeletedPcs } from './end-deleted-pcs.ts';
import { notCopied } from './errors.ts';
import { createFoldTaskCounts } from './fold-task-counts.ts';
import { HandedToPcs } from './handed.ts';
import { createMetrics } from './metrics.ts';
import { createPcQueries } from './pc-queries.ts';
import { pcRoutes } from './pc-routes.ts';
import { createPcs } from './pcs.ts';
import { createPruneTasks } from './prune-tasks.ts';
import { giveTaskReasons } from './reasons.ts';
import { createReports } from './reports.ts';
import { runnerRoutes } from './runner-routes.ts';
import { createSupply } from './supply.ts';
import { createTaskDevices } from './task-devices.ts';
import { createTaskQueries } from './task-queries.ts';
import { taskRoutes } from './task-routes.ts';
import { createTasks } from './tasks.ts';
import { createWatching } from './watching.ts';
import { CHANNEL, holderOf } from './wire.ts';

const CONTACT_EVERY_MS = 5_000;

/**
 * The tasks door: PCs drive many devices, one task of a tenant at a time. It knows PCs, tasks and the devices a task
 * selects; only the engine knows what is queued, running or finished.
 */
export const tasks: CreateFeature = ({
  audit,
  config,
  contacts: shellContacts,
  copying,
  db,
  engine,
  fleet,
  log,
  longPolls,
  naming,
  registry,
  repeats,
  tokens,
  searching,
}) => {
  searching.add(findNamed(engine.schema, { type: 'pc', table: 'pcs', id: 'pc_id' }));
  searching.add(findNamed(engine.schema, { type: 'task', table: 'tasks', id: 'task_id' }));
  const { now, schema } = engine;
  naming.workersOf(CHANNEL, namesOfWorkers(holderOf, namesById(schema, { table: 'pcs', id: 'pc_id' })));
  const contacts = shellContacts.of(CHANNEL, CONTACT_EVERY_MS);
  const handed = new HandedToPcs(engine);
  const metrics = createMetrics(registry);
  const pcQueries = createPcQueries(schema, contacts, now);
  const queries = createTaskQueries(schema, now, db.isDistributed);
  const advance = createAdvance({
    engine,
    pcQueries,
    queries: createAdvanceQueries(schema, {
      now,
      absentSeconds: config.MUSTER_TASK_ABSENT_SECONDS,
      stallSeconds: config.MUSTER_TASK_STALL_SECONDS,
    }),
    tasks: queries,
  });
  const soon = runSoon(engine, log, ADVANCE_TASKS);
  const deletedPcs = createDeletedPcs(db, schema);
  const endDeletedPcs = createEndDeletedPcs(engine, { contacts, tokens });
  const pcs = createPcs({
    audit,
    claimableOf: createClaimable(engine),
    contacts,
    deletedPcs,
    engine,
    mostSlots: config.MUSTER_MAX_SLOTS_PER_PC,
    queries: pcQueries,
    tokens,
  });
  const supply = createSupply(engine);
  const claiming = createClaiming({
    advance,
    engine,
    handed,
    handOut: createHandOut({ engine, log, longPolls }, CHANNEL),
    metrics,
    supply,
    tasks: queries,
  });
  fleet.addStepMilestones(CHANNEL, 'task');
  fleet.addChannelOfPcs(CHANNEL);
  copying.refuse(CHANNEL, notCopied);
  countTransitions(engine, soon.soon);
  engine.addDuty(advance.duty);
  engine.addDuty(endDeletedPcs);
  engine.addDuty(createFoldTaskCounts(engine));
  engine.addDuty(createPruneTasks(engine, config.MUSTER_RETENTION_DAYS));
  giveTaskReasons(engine, contacts);

  let listening: { stop(): Promise<void> } | undefined;
  return {
    name: 'tasks',
    errors: TASK_ERRORS,
    routes: [
      ...pcRoutes({ contacts, pcs }),
      ...taskRoutes({
        db,
        queries,
        taskDevices: createTaskDevices(engine, contacts),
        tasks: createTasks({
          advance,
          audit,
          engine,
          places: fleet.pcs,
          queries,
          refuseUnknown: fleet.refuseUnknown,
          repeats,
          soon,
          timeoutSeconds: config.MUSTER_TASK_TIMEOUT_SECONDS,
        }),
      }),
      ...runnerRoutes({
        claiming,
        contacts,
        engine,
        pcs,
        reports: createReports({
          engine,
          handed,
          metrics,
          async ended({ tenantId, pcId }) {
            if (deletedPcs.has(tenantId, pcId)) await endDeletedPcs.one(db, tenantId, pcId);
          },
        }),
        watching: createWatching({ engine, longPolls }),
      }),
    ],
    async start() {
      listening = await deletedPcs.start();
    },
    async stop() {
      await listening?.stop();
      await soon.stop();
    },
  };
};
