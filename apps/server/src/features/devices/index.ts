import { dutyRun } from '@muster/engine';
import { Contacts } from '../../contacts.ts';
import type { CreateFeature, Shell } from '../../feature.ts';
import { createAssigning } from './assigning.ts';
import { createCheckin } from './checkin.ts';
import { checkinRoute } from './checkin-route.ts';
import { deviceRoutes } from './device-routes.ts';
import { enrolmentRoutes } from './enrolment-routes.ts';
import { DEVICE_ERRORS } from './errors.ts';
import { importRoute } from './import/import-route.ts';
import { createMilestoneLog } from './milestone-log.ts';
import { Milestones } from './milestones.ts';
import { createPcs } from './pcs.ts';
import { createDeviceQueries } from './queries.ts';
import { queueRoutes } from './queue-routes.ts';
import { giveOfflineReasons } from './reasons.ts';
import { createRegistry } from './registry.ts';
import { createTargetSets, type TargetSets } from './target-sets.ts';
import { createDeviceViews } from './views.ts';

/** Devices: who they are, what waits for them, what they get when they check in. Other features may use this index. */
export const devices: CreateFeature = (shell) => {
  const { audit, config, db, engine, longPolls, tokens } = shell;
  const { schema, now } = engine;
  const onlineSeconds = config.MUSTER_ONLINE_WINDOW_SECONDS;
  const queries = createDeviceQueries(schema, { now, onlineSeconds });
  const contacts = new Contacts({
    log: shell.log,
    now,
    everyMs: CONTACT_EVERY_MS,
    store: (seen) => queries.markSeen(db, seen),
  });
  const log = createMilestoneLog(schema, now);
  const milestones = new Milestones(engine);
  const pcs = createPcs(schema);
  const registry = createRegistry({ engine, log, pcs, queries, tokens });
  const views = createDeviceViews(engine, contacts, onlineSeconds);
  const checkIn = createCheckin({
    contacts,
    engine,
    leaseSeconds: config.MUSTER_CHECKIN_LEASE_SECONDS,
    log: shell.log,
    longPolls,
    milestones,
  });

  milestones.register();
  giveOfflineReasons(engine, queries, contacts, onlineSeconds);
  engine.addDuty({
    name: 'prune-milestones',
    everyMs: EVERY_TEN_MINUTES,
    runOnce: async (client) =>
      dutyRun(await log.prune(client, config.MUSTER_MILESTONE_DAYS, MOST_PRUNED), MOST_PRUNED),
  });

  return {
    name: 'devices',
    errors: DEVICE_ERRORS,
    routes: [
      ...deviceRoutes({ audit, engine, log, pcs, queries, registry, views }),
      ...queueRoutes({ assigning: createAssigning(engine, log), audit, engine, queries }),
      ...enrolmentRoutes({ audit, engine, queries, registry, tokens }),
      importRoute({ audit, db, log: shell.log, registry }),
      checkinRoute(checkIn),
    ],
    stop: () => contacts.write(),
  };
};

const CONTACT_EVERY_MS = 5_000;
const EVERY_TEN_MINUTES = 600_000;
const MOST_PRUNED = 5_000;

/** What batches and workflows build on: the same devices, the same lanes, the same milestones. */
export function targetSetsOf({ engine }: Shell): TargetSets {
  return createTargetSets(
    engine.schema,
    createAssigning(engine, createMilestoneLog(engine.schema, engine.now)),
  );
}
export type { DeviceAction } from './assigning.ts';
export { createPcs, type Pcs, unknownPc } from './pcs.ts';
export { createPruneNotices, createPruneSets } from './prune-sets.ts';
export { deviceAction, targets } from './schemas.ts';
export type { TargetCounts, TargetSets, Targets } from './target-sets.ts';
