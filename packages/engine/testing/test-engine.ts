import {
  createEngine,
  type Engine,
  type EngineOptions,
  type NewAction,
  type ReportAnswer,
  type ReportRequest,
} from '../src/index.ts';
import { type TestClock, testClock } from './clock.ts';
import { brokenInvariants } from './invariants.ts';
import { type TestDatabase, testDatabase } from './test-database.ts';

/** An engine on its own database with a test clock; housekeeping runs only when the test says so. */
export interface TestEngine extends TestDatabase {
  readonly engine: Engine;
  readonly clock: TestClock;
  /** A new lane. */
  lane(name?: string): Promise<{ tenantId: number; laneId: string }>;
  enqueue(laneId: string, action?: Partial<NewAction>): Promise<string>;
  claim(laneId: string, worker?: string, leaseMs?: number): ReturnType<Engine['claim']>;
  /** Reports an attempt of an action, succeeded unless said otherwise. */
  report(
    id: string,
    attempt: number,
    status?: ReportRequest['status'],
    more?: Partial<ReportRequest>,
  ): Promise<ReportAnswer>;
  state(id: string): Promise<string>;
  eventTypes(id: string): Promise<string[]>;
  /** Moves the clock and does the housekeeping of that moment. */
  pass(ms: number): Promise<void>;
  /** Checks what must always hold (see invariants.ts) and that nothing went wrong in the background. */
  close(): Promise<void>;
}

export const TENANT = 1;
const EVERY_SECOND = ['end-leases', 'make-due', 'expire', 'end-stale', 'end-precedence'];
let lanes = 0;

/** `days: false`: the days of the history do not exist yet. */
export async function testEngine(options: EngineOptions = {}, { days = true } = {}): Promise<TestEngine> {
  const database = await testDatabase(options.schema ? { schema: options.schema } : {});
  const clock = testClock();
  const errors: unknown[] = [];
  const engine = createEngine(database.db, { clock, onError: (error) => errors.push(error), ...options });
  const { db } = database;
  if (days) await engine.runDuty('keep-days');
  return {
    ...database,
    engine,
    clock,
    async lane(name) {
      lanes += 1;
      return {
        tenantId: TENANT,
        laneId: await engine.ensureLane(db, TENANT, 'test', name ?? `lane ${lanes}`),
      };
    },
    async enqueue(laneId, action = {}) {
      return (await engine.enqueue(db, { tenantId: TENANT, laneId, kind: 'test', ...action })).id;
    },
    claim: (laneId, worker = 'worker', leaseMs = 60_000) =>
      engine.claim(db, { tenantId: TENANT, laneId, channel: 'any', worker, leaseMs }),
    report: (id, attempt, status = 'succeeded', more = {}) =>
      engine.report(db, { tenantId: TENANT, actionId: id, attempt, status, ...more }),
    async state(id) {
      return (await engine.get(db, TENANT, id))?.state ?? 'unknown';
    },
    async eventTypes(id) {
      return (await engine.events(db, TENANT, id)).map((event) => event.type);
    },
    async pass(ms) {
      clock.advance(ms);
      for (const duty of EVERY_SECOND) await engine.runDuty(duty);
    },
    async close() {
      await engine.stop();
      const broken = await brokenInvariants(db, options.schema);
      await database.drop();
      if (broken.length > 0) throw new Error(`The tables contradict each other:\n${broken.join('\n')}`);
      if (errors.length > 0) throw new AggregateError(errors, 'The engine met errors in the background.');
    },
  };
}
