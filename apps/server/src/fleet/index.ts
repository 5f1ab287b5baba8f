import { FLEET_ERRORS } from '@muster/contracts/words';
import { type Database, dutyRun, type Engine, type Queryable } from '@muster/engine';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config.ts';
import type { Contacts } from '../contacts/contacts.ts';
import { isId } from '../http/ids.ts';
import type { Log } from '../http/logging.ts';
import { namesById, namesOfWorkers } from '../naming/names-by-id.ts';
import type { Naming } from '../naming/naming.ts';
import type { Problems } from '../problems/problems.ts';
import type { Redriving } from '../redriving/redriving.ts';
import type { Searching } from '../searching/searching.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { createActionsOfPc } from './actions-of-pc.ts';
import { createAssigning } from './assigning.ts';
import { deviceRoutes } from './device-routes.ts';
import { CHECKIN, DEVICE_SPACE, holderOf } from './device-token.ts';
import { createDevicesInError } from './devices-in-error.ts';
import { createDoorBatches } from './door-batches.ts';
import { enrolmentRoutes } from './enrolment-routes.ts';
import { unknownDevice } from './errors.ts';
import { createFindDevices } from './find-devices.ts';
import { importRoute } from './import/import-route.ts';
import { createMilestoneLog } from './milestone-log.ts';
import { addMilestones, addStepMilestones } from './milestones.ts';
import { createOrigins } from './origins.ts';
import { pauseRoutes } from './pause-routes.ts';
import { createPcs } from './pcs.ts';
import { createPruneAssignments } from './prune-assignments.ts';
import { createDeviceQueries } from './queries.ts';
import { createRedriveRule } from './redrive-rule.ts';
import { createRegistry } from './registry.ts';
import { createTargetSets } from './target-sets.ts';
import { createDeviceViews } from './views.ts';
import { createRefuseUnknown } from './who-is-meant.ts';

/**
 * The fleet: devices, their tokens, their last contact, their history. Every door may use it through this file; it
 * knows no door. How actions get to a device is up to the door.
 */
export type Fleet = ReturnType<typeof createFleet>;

const CONTACT_EVERY_MS = 5_000;
/** A device heard of over any of these is online; `heard_on` has them too. */
const HEARD_ON = [CHECKIN, 'mdm'];
const EVERY_TEN_MINUTES = 600_000;
const MOST_PRUNED = 5_000;

export function createFleet(shell: {
  readonly audit: Audit;
  readonly config: Config;
  readonly contacts: Contacts;
  readonly db: Database;
  readonly engine: Engine;
  readonly log: Log;
  readonly naming: Naming;
  readonly problems: Problems;
  readonly redriving: Redriving;
  readonly searching: Searching;
  readonly tokens: Tokens;
}) {
  const { audit, config, db, engine, tokens } = shell;
  const { schema, now } = engine;
  const contacts = shell.contacts.of(CHECKIN, CONTACT_EVERY_MS);
  const heard = shell.contacts.ofAny(HEARD_ON);
  const queries = createDeviceQueries(schema, { contacts, heard, now });
  const log = createMilestoneLog(schema, now);
  const pcs = createPcs(schema);
  const registry = createRegistry({ contacts, engine, log, pcs, queries, tokens });
  const ofPcs = new Set<string>();
  const views = createDeviceViews(engine, {
    ...{ contacts, heard, naming: shell.naming },
    isCalledByKind: (channel) => channel === CHECKIN || ofPcs.has(channel),
  });
  const assigning = createAssigning(engine, log);
  const origins = createOrigins(schema);
  const namesOf = namesById(schema, { table: 'devices', id: 'device_id' });
  shell.naming.targetsOf(DEVICE_SPACE, namesOf);
  shell.naming.workersOf(CHECKIN, namesOfWorkers(holderOf, namesOf));

  async function laneOf(client: Queryable, tenantId: number, deviceId: string, which: 'there' | 'any') {
    const laneId = isId(deviceId) ? await queries.laneOf(client, tenantId, deviceId, which) : null;
    if (laneId === null) throw unknownDevice();
    return laneId;
  }

  shell.problems.add(createDevicesInError(schema));
  shell.searching.add(createFindDevices(schema));

  shell.redriving.add(createRedriveRule(schema, { audit, ofPcs, queries }));

  engine.addDuty({
    name: 'prune-milestones',
    everyMs: EVERY_TEN_MINUTES,
    runOnce: async (client) =>
      dutyRun(await log.prune(client, config.MUSTER_MILESTONE_DAYS, MOST_PRUNED), MOST_PRUNED),
  });
  engine.addDuty(createPruneAssignments(log));

  return {
    name: 'fleet',
    errors: FLEET_ERRORS,
    routes: [
      ...deviceRoutes({ audit, engine, log, pcs, queries, registry, views }),
      ...pauseRoutes({ audit, engine, queries, views }),
      ...enrolmentRoutes({ audit, queries, registry }),
      importRoute({ audit, db, log: shell.log, registry }),
    ],

    assigning,
    contacts,
    /** Writes milestones for all transitions of actions in this channel that the fleet assigned. */
    addMilestones: (channel: string) => addMilestones(engine, channel),
    /** The same for a door that creates its actions itself. */
    addStepMilestones: (channel: string, source: string) => addStepMilestones(engine, channel, source),
    /** Actions of this channel are refused for devices in error, and are delivered only by their PCs. */
    addChannelOfPcs: (channel: string) => void ofPcs.add(channel),
    pcs,
    /** Throws if one of these is not a device, and names it. */
    refuseUnknown: createRefuseUnknown(schema),
    targetSets: createTargetSets(schema, assigning),
    assignmentsOf: queries.assignmentsOf,
    issueEnrolmentToken: registry.issueEnrolmentToken,
    issueEnrolmentTokens: registry.issueEnrolmentTokens,
    endEnrolmentTokens: registry.endEnrolmentTokens,
    /** Batches whose actions a door queues itself. */
    doorBatches: createDoorBatches(schema, now),
    /** A door has queued these actions for devices itself. */
    noteAssigned: log.assigned,
    /** Another phone is this device from now on. */
    notePhoneReplaced: (tx: Queryable, tenantId: number, deviceId: string) =>
      log.written(tx, tenantId, 'phoneReplaced', [deviceId], null),
    onRemoved: registry.onRemoved,
    /** What created these actions of devices; other actions are missing. */
    originsOf: origins.of,
    /** Names of devices, by id. */
    namesOf,
    /** Sets how runs of workflows are named. */
    nameRuns: origins.nameRuns,
    deviceOfLane: queries.deviceOfLane,
    actionsOfPc: createActionsOfPc(schema, ofPcs),
    saidOf: log.saidOf,
    /** Newest first. */
    milestonesOf: log.list,
    offlineSince: queries.offlineSince,

    /** The lane of an existing device; throws for any other. */
    laneOf: (client: Queryable, tenantId: number, deviceId: string) =>
      laneOf(client, tenantId, deviceId, 'there'),
    /** The same, also for a deleted device. */
    laneOfAny: (client: Queryable, tenantId: number, deviceId: string) =>
      laneOf(client, tenantId, deviceId, 'any'),
  };
}

export { actionsById } from './actions-by-id.ts';
export { CHECKIN, DEVICE_SPACE, type DeviceOf, deviceOf, holderOf, isOfFormerLife } from './device-token.ts';
export type { DoorBatch } from './door-batches.ts';
export { DeviceInError, unknownDevice } from './errors.ts';
export { days, type HandOutFacts, PENDING_UP_TO, unfinishedDays } from './milestones.ts';
export { type Pcs, unknownPc } from './pcs.ts';
export { createPruneNotices, createPruneSets } from './prune-sets.ts';
export type { Target, TargetCounts, TargetSets } from './target-sets.ts';
export { isMeant } from './who-is-meant.ts';
export { WHOLE_FLEET } from './whole-fleet.ts';
