import type pg from 'pg';
import { createEngine, type Engine, type NewAction, type Queryable } from '../src/index.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import { checkHistory, type Violation, type ViolationKind } from './check-history.ts';
import { type TestClock, testClock } from './clock.ts';
import { createGate, type Gate } from './gate.ts';
import { readHistory } from './history.ts';
import { type Sabotage, sabotage, sabotageClient } from './sabotage.ts';
import { createSessions, type Sessions } from './sessions.ts';
import type { TestDatabase } from './test-database.ts';

/** A tenant of its own, an engine on the same database (broken or not), a gate, sessions, and a log of the calls. */
export interface Scene {
  readonly engine: Engine;
  readonly db: Queryable;
  readonly clock: TestClock;
  readonly tenantId: number;
  readonly gate: Gate;
  readonly log: CallLog;
  /** Another session, with the same sabotage; each statement is its own transaction until it begins one. */
  session(): Promise<{ client: pg.Client; db: Queryable }>;
  /** Stops the call at the gate of this statement, in another session, does the rest, and lets it end; its answer. */
  stopped<T>(
    statement: string,
    call: (client: Queryable) => Promise<T>,
    meanwhile: () => Promise<unknown>,
  ): Promise<T>;
  lane(): Promise<string>;
  enqueue(laneId: string, action?: Partial<NewAction>, on?: Queryable): Promise<string>;
  claim(laneId: string, worker: string, on?: Queryable): ReturnType<Engine['claim']>;
  claimSlots(runnerId: string, on?: Queryable): ReturnType<Engine['claimSlots']>;
  /** A pool and this many lanes of its workers. */
  pool(workers: number): Promise<{ poolId: string; workers: string[] }>;
  claimFromPool(poolId: string, laneId: string, on?: Queryable): ReturnType<Engine['claimFromPool']>;
  check(): Promise<Violation[]>;
}

let tenants = 1_000;

export async function withScene<T>(
  database: TestDatabase,
  by: Sabotage,
  play: (scene: Scene) => Promise<T>,
): Promise<{ result: T; kinds: ViolationKind[]; violations: Violation[] }> {
  const url = database.url as string;
  const sessions: Sessions = createSessions(url);
  const gate = await createGate(url);
  const db = sabotage(database.db, by);
  const clock = testClock();
  const engine = createEngine(db, { clock });
  const log = createCallLog();
  tenants += 1;
  const tenantId = tenants;
  let lanes = 0;
  const scene: Scene = {
    engine,
    db,
    clock,
    tenantId,
    gate,
    log,
    async session() {
      const client = await sessions.open();
      return { client, db: sabotageClient(sessions.queryable(client), by) };
    },
    async stopped(statement, call, meanwhile) {
      const session = await scene.session();
      await gate.close();
      const answer = call(gate.before(session.db, statement));
      await gate.reached(answer);
      await meanwhile();
      await gate.open();
      return answer;
    },
    lane() {
      lanes += 1;
      return engine.ensureLane(db, tenantId, 'scene', `lane ${lanes}`);
    },
    async enqueue(laneId, action = {}, on = db) {
      const begun = log.tick();
      const { id } = await engine.enqueue(on, { tenantId, laneId, kind: 'test', ...action });
      const ended = log.tick();
      log.enqueued.push({ id, begun, answered: ended, ended });
      return id;
    },
    async claim(laneId, worker, on = db) {
      const begun = log.tick();
      const claimed = await engine.claim(on, { tenantId, laneId, channel: 'any', worker, leaseMs: 10_000 });
      if (claimed)
        log.claimed.push({ id: claimed.id, attempt: claimed.attempt, until: claimed.leaseUntil, begun });
      return claimed;
    },
    async claimSlots(runnerId, on = db) {
      const worker = `runner ${runnerId}`;
      return engine.claimSlots(on, { tenantId, runnerId, channel: 'any', worker, leaseMs: 10_000, max: 10 });
    },
    async pool(many) {
      const poolId = await engine.ensurePool(db, tenantId, 'scene', 'pool');
      const workers: string[] = [];
      for (let n = 0; n < many; n += 1) workers.push(await scene.lane());
      for (const laneId of workers) await engine.joinPool(db, { tenantId, laneId }, poolId);
      return { poolId, workers };
    },
    async claimFromPool(poolId, laneId, on = db) {
      const begun = log.tick();
      const by = { channel: 'any', worker: `worker of ${laneId}`, leaseMs: 10_000 };
      const got = await engine.claimFromPool(on, { tenantId, poolId, laneId, ...by });
      if (got.kind === 'claimed')
        log.claimed.push({
          ...{ id: got.action.id, attempt: got.action.attempt, until: got.action.leaseUntil, begun },
        });
      return got;
    },
    check: async () => checkHistory(await readHistory(database.db, tenantId), log),
  };
  try {
    await engine.runDuty('keep-days'); // a transaction of one's own cannot make them
    const result = await play(scene);
    const violations = await scene.check();
    return { result, violations, kinds: [...new Set(violations.map(({ kind }) => kind))].sort() };
  } finally {
    await gate.end();
    await sessions.end();
    await engine.stop();
  }
}
