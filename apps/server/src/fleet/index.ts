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
import { createDeviceQueries } from './queries.ts';
import { createRedriveRule } from './redrive-rule.ts';
import { createRegistry } from './registry.ts';
import { createTargetSets } from './target-sets.ts';
import { createDeviceViews } from './views.ts';
import { createRefuseUnknown } from './who-is-meant.ts';

/**
 * The fleet: which devices there are, their tokens, when they were last heard of, what happened to them. Open to every
 * door, by this file; it knows none of them. How actions get to a device is a door's business.
 */
export type Fleet = ReturnType<typeof createFleet>;

const CONTACT_EVERY_MS = 5_000;
/** A device that has come over any of these is there; `heard_on` has them, too. */
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
    /** Everything that happens to actions of this channel, assigned by the fleet, is a milestone of their devices. */
    addMilestones: (channel: string) => addMilestones(engine, channel),
    /** The same for a door that makes the actions of its channel itself. */
    addStepMilestones: (channel: string, source: string) => addStepMilestones(engine, channel, source),
    /** Actions of this channel are for devices that are not in error, and get to them by their PCs only. */
    addChannelOfPcs: (channel: string) => void ofPcs.add(channel),
    pcs,
    /** Throws if one of these is no device, and says which. */
    refuseUnknown: createRefuseUnknown(schema),
    targetSets: createTargetSets(schema, assigning),
    assignmentsOf: queries.assignmentsOf,
    issueEnrolmentToken: registry.issueEnrolmentToken,
    issueEnrolmentTokens: registry.issueEnrolmentTokens,
    endEnrolmentTokens: registry.endEnrolmentTokens,
    /** Batches whose actions a door puts into lanes itself. */
    doorBatches: createDoorBatches(schema, now),
    /** A door has put these actions into the lanes of devices itself. */
    noteAssigned: log.assigned,
    /** Another phone is this device from now on. */
    notePhoneReplaced: (tx: Queryable, tenantId: number, deviceId: string) =>
      log.written(tx, tenantId, 'phoneReplaced', [deviceId], null),
    onRemoved: registry.onRemoved,
    /** What made these actions of devices; of others it says nothing. */
    originsOf: origins.of,
    /** What devices are called, by their ids. */
    namesOf,
    /** By whom runs of workflows are named. */
    nameRuns: origins.nameRuns,
    deviceOfLane: queries.deviceOfLane,
    actionsOfPc: createActionsOfPc(schema, ofPcs),
    saidOf: log.saidOf,
    /** Newest first. */
    milestonesOf: log.list,
    offlineSince: queries.offlineSince,

    /** The lane of a device that is there; of any other it throws. */
    laneOf: (client: Queryable, tenantId: number, deviceId: string) =>
      laneOf(client, tenantId, deviceId, 'there'),
    /** The same, also of one that is deleted. */
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
