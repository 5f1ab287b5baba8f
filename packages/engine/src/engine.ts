import { randomUUID } from 'node:crypto';
import { adoptClients } from './adopt-clients.ts';
import { ofOne } from './by-tenant.ts';
import { Calls, type Observer } from './calls.ts';
import type { ClaimedAction } from './claimed-action.ts';
import {
  type ClaimPoolRequest,
  type ClaimRequest,
  type ClaimSlotsRequest,
  createClaiming,
  type PoolClaim,
} from './claiming.ts';
import { DatabaseClock } from './database-clock.ts';
import type { Database, Queryable } from './db.ts';
import type { Duty } from './duties/duty.ts';
import { createEndLeases } from './duties/end-leases.ts';
import { createEndPrecedence } from './duties/end-precedence.ts';
import { createEndStale } from './duties/end-stale.ts';
import { createExpire } from './duties/expire.ts';
import { createFoldCounts } from './duties/fold-counts.ts';
import { createForgetLanes } from './duties/forget-lanes.ts';
import { createKeepDays, makeDays } from './duties/keep-days.ts';
import { createKeepTables } from './duties/keep-tables.ts';
import { createMakeDue } from './duties/make-due.ts';
import { createPrune } from './duties/prune.ts';
import { type Effect, Effects } from './effects.ts';
import { createFeed } from './feed.ts';
import { createFindTouched } from './find-touched.ts';
import { channelOf, Housekeeping } from './housekeeping.ts';
import { incarnationOf, noticeRestore } from './incarnation.ts';
import { createLostClaims } from './lost-claims.ts';
import { checkSchemaName } from './migrate.ts';
import type { Context } from './operation.ts';
import { createAcknowledge } from './ops/acknowledge.ts';
import { createActionOps } from './ops/action-ops.ts';
import { createChooseAndClaim } from './ops/choose-and-claim.ts';
import { type ClaimItem, createClaim } from './ops/claim.ts';
import { createClaimNamed } from './ops/claim-named.ts';
import { createClaimPool } from './ops/claim-pool.ts';
import { createClaimSlots } from './ops/claim-slots.ts';
import { createCounts } from './ops/counts.ts';
import { lineOfKey } from './ops/enqueue.ts';
import { createEnqueueOps } from './ops/enqueue-ops.ts';
import { checkLaneName, createEnsureLane } from './ops/ensure-lane.ts';
import { createExtend, type ExtendItem } from './ops/extend.ts';
import { createHeld, createHeldByAll } from './ops/held.ts';
import { LaneRooms } from './ops/lane-rooms.ts';
import { createLaneOps, type LaneRef } from './ops/lanes.ts';
import { createLookUp } from './ops/look-up.ts';
import { createNote, type Note } from './ops/note.ts';
import { createPauseOps, type PauseScope } from './ops/pause.ts';
import { createQueueReads } from './ops/queue.ts';
import { createRunnerOps } from './ops/runners.ts';
import { createWaitingLanes } from './ops/waiting-lanes.ts';
import { createPerformDuty } from './perform-duty.ts';
import { type GiveReasons, Reasons } from './reasons.ts';
import { createLateNews } from './report/record-late.ts';
import { createReporting } from './report/requests.ts';
import { createReport } from './report/statement.ts';
import type { RoomSize } from './room.ts';
import { createSuppliedClaims } from './supplied-claim.ts';
import { checkAttempt } from './text.ts';
import type { Wake } from './transition.ts';
import { checkLease, checkName, checkTenant, checkWhole, ifGiven, isId } from './values.ts';
import { WakeUps } from './wake-ups.ts';

export interface EngineOptions {
  /** The schema of the tables. */
  readonly schema?: string;
  /** For tests: a clock to use instead of the database's. */
  readonly clock?: () => Date;
  /** Ended actions are deleted after this many days. */
  readonly retentionDays?: number;
  /** The most unfinished actions per lane. */
  readonly depthLimit?: number;
  /** How many calls of one kind, of how many bytes together, may wait for the database. */
  readonly room?: RoomSize;
  /** Lanes of these spaces have no owner: empty and unused for this long, at least a day, they are deleted. */
  readonly forgetLanes?: { readonly of: readonly string[]; readonly afterMs?: number };
  /** How many claims may wait at this node. */
  readonly maxWaiting?: number;
  /** A select of all tenants, for the duties of a distributed database; by default those that have actions. */
  readonly tenants?: string;
  readonly onError?: (error: unknown) => void;
  /** Called each second in which the database stored this node's sign of life. */
  readonly onAlive?: () => void;
  readonly observer?: Observer;
}

export type Engine = ReturnType<typeof createEngine>;

/**
 * Assembles the engine. Every operation takes a client first: the engine's own `db` (gathered with other calls and
 * committed by itself), a transaction of `db.transaction`, or any `pg` client of the caller's.
 */
export function createEngine(db: Database, options: EngineOptions = {}) {
  const schema = checkSchemaName(options.schema ?? 'muster');
  const { clock } = options;
  const databaseClock = new DatabaseClock();
  const context: Context = {
    schema,
    now: clock ?? (() => databaseClock.now()),
    ready: clock ? () => undefined : (client) => databaseClock.ready(client),
    depthLimit: options.depthLimit ?? 1_000,
    effects: new Effects(),
    isDistributed: db.isDistributed,
  };
  const onError = options.onError ?? (() => {});
  const observer = options.observer ?? {};
  const retentionDays = options.retentionDays ?? 14;

  const reasons = new Reasons();
  const nodeId = randomUUID();
  const findTouched = createFindTouched(context);
  const rooms = new LaneRooms();
  const wakeUps: WakeUps = new WakeUps(db, {
    channel: channelOf(schema),
    nodeId,
    maxWaiting: options.maxWaiting ?? 50_000,
    find: (touched) => findTouched(db.gathered, touched),
    onError,
    onNode: () => void housekeeping.lead(),
    onFilled: (lane) => (lane === null ? rooms.forgetAll() : rooms.forget(lineOfKey(lane))),
  });
  const calls = new Calls(db, context, wakeUps, observer, options.room);

  const lanes = createLaneOps(context, options.forgetLanes?.of ?? []);
  const note = createNote(context);
  const runners = createRunnerOps(context);
  const pauses = createPauseOps(context);
  const lookUp = createLookUp(context, reasons);
  const queues = createQueueReads(context, lookUp.viewsOf);
  const endStale = createEndStale(context);
  const duties: Duty[] = [
    createEndLeases(context),
    createMakeDue(context),
    createExpire(context),
    endStale,
    createEndPrecedence(context),
    createFoldCounts(context),
    createPrune(context, retentionDays),
    createForgetLanes(context, { of: [], retentionDays, ...options.forgetLanes }),
    createKeepDays(context, retentionDays),
    createKeepTables(context, db),
  ];
  const tenants = options.tenants ?? `select distinct c.tenant_id from ${schema}.count_changes c`;
  const performDuty = createPerformDuty({ ...context, tenants }, calls);
  const housekeeping: Housekeeping = new Housekeeping({
    schema,
    nodeId,
    client: db.reserved,
    context,
    clock: databaseClock,
    duties,
    run: performDuty,
    counting: () => wakeUps.counting(),
    afterBeat: () => wakeUps.checkListener(),
    onError,
    ...(options.onAlive ? { onAlive: options.onAlive } : {}),
    ...(observer.duty ? { onDuty: observer.duty.bind(observer) } : {}),
  });

  const report = createReport(context);
  const gatheredReport = calls.gathered(report, (_, { next }) => takeBack(next ? [next] : []));
  const claim = createClaim(context);
  const gatheredClaim = calls.gathered(claim, (_, answer) =>
    takeBack(answer.kind === 'claimed' ? [answer.action] : []),
  );
  const gatheredClaimSlots = calls.gathered(createClaimSlots(context), (_, answer) =>
    takeBack(answer.kind === 'claimed' ? answer.actions : []),
  );
  const ofPool = (named: boolean) =>
    calls.gathered(createClaimPool(context, { named }), (_, answer) =>
      takeBack(answer.kind === 'claimed' ? [answer.action] : []),
    );
  const gatheredExtend = calls.gathered(createExtend(context));
  const gatheredAcknowledge = calls.gathered(createAcknowledge(context));
  const gatheredLateNews = calls.gathered(createLateNews(context));
  const gatheredLane = calls.gathered(createEnsureLane(context));
  const release = async (client: Queryable, { tenantId, id: actionId, attempt }: ClaimedAction) => {
    await gatheredReport(client, { tenantId, actionId, attempt, outcome: 'released' });
  };
  /**
   * The caller was told that there is no answer, so these actions have no holder. A repeated hand-out may be with its
   * worker.
   */
  function takeBack(actions: readonly ClaimedAction[]): void {
    for (const action of actions)
      if (!action.redelivered)
        release(db, action).catch((error) => {
          onError(error);
          lostClaims.add([{ tenantId: action.tenantId, actionId: action.id, attempt: action.attempt }]);
        });
  }
  const lostClaims = createLostClaims(context, {
    client: db.gathered,
    async release(found) {
      await gatheredReport(db, { ...found, outcome: 'released' });
    },
  });
  calls.onLostClaims = (claims) => lostClaims.add(claims);
  const claiming = createClaiming({
    waiters: wakeUps.waiters,
    claim: gatheredClaim,
    claimEach: (client, items) => calls.many(claim, client, items),
    claimSlots: gatheredClaimSlots,
    claimPool: ofPool(false),
    claimPoolNamed: ofPool(true),
    release,
    ...(observer.woken ? { woken: observer.woken.bind(observer) } : {}),
  });
  const reporting = createReporting({
    report: gatheredReport,
    reportMany: (client, items) => calls.many(report, client, items),
    claim: gatheredClaim,
    ...(observer.late ? { onLate: observer.late.bind(observer) } : {}),
  });

  const onLane =
    (change: (client: Queryable, lane: LaneRef) => ReturnType<typeof lanes.resume>) =>
    async (client: Queryable, lane: LaneRef) => {
      await calls.inside(client, (inner) => change(inner, lane));
    };

  const engine = {
    db,
    schema,
    /** The time to use in statements beside the engine's. */
    now: context.now,
    ...createEnqueueOps(context, calls, rooms),
    ...createActionOps(context, calls, lookUp),
    report: reporting.report,
    reportMany: reporting.reportMany,
    release: reporting.release,

    /** The lane's next action, or null. With `waitMs` it waits for one without polling the database. */
    claim: (client: Queryable, request: ClaimRequest): Promise<ClaimedAction | null> =>
      claiming.claim(client, request),
    /**
     * The next action of each of many lanes, each named once, in one statement of the caller's transaction; null:
     * none.
     */
    claimMany: (client: Queryable, requests: readonly ClaimItem[]): Promise<(ClaimedAction | null)[]> =>
      claiming.claimMany(client, requests),
    /** The oldest heads of the runner's lanes, as many as slots are free and `max` allows. */
    claimSlots: (client: Queryable, request: ClaimSlotsRequest): Promise<ClaimedAction[]> =>
      claiming.claimSlots(client, request),
    /** The head of a pool, for the worker of a lane that has joined it. */
    claimFromPool: (client: Queryable, request: ClaimPoolRequest): Promise<PoolClaim> =>
      claiming.claimFromPool(client, request),
    claimNamedMany: createClaimNamed(context, calls),
    choosing: createChooseAndClaim(context, calls, rooms),
    /** What the runner holds, as read by the caller's `look`; with `waitMs` it waits until `look` finds something. */
    watchHeld: claiming.watchHeld,
    /** A claim whose actions the caller supplies: what it names and creates, in the transaction it is passed. */
    supplied: createSuppliedClaims(calls, claiming, onError),
    /** Something only the caller knows of may be claimable now; announced when its transaction commits. */
    async wake(client: Queryable, wakes: readonly Wake[]): Promise<void> {
      await calls.inside(client, async () => ({ transitions: [], wakes: [...wakes] }));
    },
    async extend(client: Queryable, item: ExtendItem) {
      if (!isId(item.actionId)) return { extended: false, leaseUntil: null, cancelRequested: false };
      checkTenant(item.tenantId);
      checkLease(item.leaseMs);
      ifGiven(item.mostMs, (ms) => checkWhole(ms, 'mostMs', 0));
      ifGiven(item.channel, (channel) => checkName(channel, 'channel'));
      return gatheredExtend(client, { ...item, attempt: checkAttempt(item.attempt) });
    },
    /** The worker has received the attempt. False: it is not running (any more). */
    async acknowledge(
      client: Queryable,
      item: { tenantId: number; actionId: string; attempt: number },
    ): Promise<boolean> {
      if (!isId(item.actionId)) return false;
      checkTenant(item.tenantId);
      return gatheredAcknowledge(client, { ...item, attempt: checkAttempt(item.attempt) });
    },
    /** Something other than a report came for an attempt that is not the running one. */
    async recordLate(
      client: Queryable,
      news: { tenantId: number; actionId: string; attempt: number; worker: string; what: string },
    ): Promise<void> {
      checkTenant(news.tenantId);
      checkName(news.worker, 'worker', 0);
      checkName(news.what, 'news');
      if (!isId(news.actionId)) return;
      await gatheredLateNews(client, { ...news, attempt: checkAttempt(news.attempt) });
    },
    held: createHeld(context),
    heldByAll: createHeldByAll(context),

    /** The lane with this name, made on first use. */
    ensureLane: async (client: Queryable, tenantId: number, space: string, name: string): Promise<string> =>
      client === db
        ? gatheredLane(client, checkLaneName({ tenantId, space, name }))
        : lanes.ensure(client, tenantId, space, name),
    ensureLanes: lanes.ensureMany.bind(lanes),
    findLane: lanes.find,
    /** The lane with this name, made on first use, that workers compete for. It stays a pool. */
    ensurePool: (client: Queryable, tenantId: number, space: string, name: string): Promise<string> =>
      lanes.ensurePool(client, tenantId, space, name),
    /** The lane's worker takes from this pool from now on, and from no other. */
    async joinPool(client: Queryable, lane: LaneRef, poolId: string) {
      await calls.inside(client, (inner) => lanes.joinPool(inner, lane, poolId));
    },
    async pauseLane(client: Queryable, lane: LaneRef & { readonly by?: string }) {
      await calls.inside(client, (inner) => lanes.pause(inner, lane));
    },
    resumeLane: onLane(lanes.resume),
    unblockLane: onLane(lanes.unblock),
    async blockLane(client: Queryable, lane: LaneRef, reason: string) {
      await calls.inside(client, (inner) => lanes.block(inner, lane, reason));
    },
    async assignRunner(client: Queryable, lane: LaneRef, runnerId: string | null) {
      await calls.inside(client, (inner) => lanes.assignRunner(inner, lane, runnerId));
    },
    /** Many lanes at once; returns how many of them changed. */
    async assignRunners(
      client: Queryable,
      tenantId: number,
      given: readonly { readonly laneId: string; readonly runnerId: string | null }[],
    ): Promise<number> {
      if (given.length === 0) return 0;
      const run = await calls.inside(client, (inner) => lanes.assignRunners(inner, tenantId, given));
      return run.answers.length;
    },
    /** The target was replaced: everything unfinished in its lane ends. Returns the new generation. */
    async raiseGeneration(client: Queryable, lane: LaneRef): Promise<number> {
      const raised = await calls.inside(client, async (inner) => {
        const run = await lanes.raiseGeneration(inner, lane);
        const ended = await endStale.runOnce(ofOne(db, inner, lane.tenantId), { lanes: [lane] });
        return { ...ended, answers: run.answers, wakes: [...run.wakes, ...ended.wakes] };
      });
      return raised.answers[0]?.generation as number;
    },
    createRunner: runners.create,
    async setSlots(client: Queryable, tenantId: number, runnerId: string, slots: number | null) {
      await calls.inside(client, (inner) => runners.setSlots(inner, tenantId, runnerId, slots));
    },

    /** A whole tenant, or all its actions with a tag. */
    async pause(client: Queryable, scope: PauseScope & { readonly by?: string }) {
      await calls.inside(client, (inner) => pauses.pause(inner, scope));
    },
    async resume(client: Queryable, scope: PauseScope) {
      await calls.inside(client, (inner) => pauses.resume(inner, scope));
    },
    listPauses: pauses.list,

    get: lookUp.get,
    explain: lookUp.explain,
    list: lookUp.list,
    count: lookUp.count,
    oldestUnfinished: lookUp.oldestUnfinished,
    waitingLanes: createWaitingLanes(context, lookUp.list),
    idOfKey: lookUp.idOfKey,
    idsOfKeys: lookUp.idsOfKeys,
    queue: queues.queue,
    positions: queues.positions,
    laneLoads: queues.laneLoads,
    events: lookUp.events,
    ...createCounts(context),
    feed: adoptClients(createFeed(context), db, context),
    /** Publishes a door's own event to readers of the feed. */
    async note(client: Queryable, notes: readonly Note[]): Promise<void> {
      await calls.inside(client, (inner) => note(inner, notes));
    },
    /**
     * Calls back whenever the feed may have something new; returns how to unsubscribe. Now and then something appears
     * without a call.
     */
    watchFeed: (watcher: () => void) => wakeUps.watch(watcher),

    /** Adds a follow-up to transitions of some channels, run inside the statement that makes them. */
    addEffect: (effect: Effect) => context.effects.add(effect),
    giveReasons: (channel: string, give: GiveReasons) => reasons.register(channel, give),
    /** `first`: each time before our own duties: it records something about an attempt before its lease ends. */
    addDuty: (duty: Duty, place: 'first' | 'last' = 'last') =>
      void (place === 'first' ? duties.unshift(duty) : duties.push(duty)),
    duties,
    /** Runs a duty now, with its effects and wake-ups, as housekeeping does every second. */
    async runDuty(name: string): Promise<number> {
      const duty = duties.find((one) => one.name === name);
      if (!duty) throw new Error(`There is no duty ${name}.`);
      const { count, errors } = await performDuty(duty);
      if (errors[0]) throw errors[0];
      return count;
    },

    /** The identity of the database; another one after a restore. */
    incarnation: (client: Queryable) => incarnationOf(client, schema),
    get parkedWaiters() {
      return wakeUps.waiters.parked;
    },
    get leading() {
      return housekeeping.leading;
    },

    /**
     * Starts housekeeping and wake-ups from other nodes. Without it the engine works, but nothing ends by itself.
     * Returns whether it found that the database was restored, so that readers of the feed must start again.
     */
    async start() {
      await context.ready(db);
      const restored = await noticeRestore(db, schema);
      await makeDays(context, db);
      await wakeUps.start();
      await housekeeping.lead(); // the others hear of it and count again, and this node is among them now
      housekeeping.start();
      return { restored: restored !== null };
    },
    /** Answers waiting claims, finishes gathered calls, gives up leadership. The database stays open. */
    async stop() {
      wakeUps.waiters.endAll();
      lostClaims.stop();
      await calls.close();
      await housekeeping.stop();
      await wakeUps.stop();
    },
  };
  return adoptClients(engine, db, context);
}
