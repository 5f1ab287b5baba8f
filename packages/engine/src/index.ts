/** The whole public surface of the engine, by name. */
export {
  type ActionState,
  EVENT_TYPES,
  type EventType,
  eventName,
  FINAL_STATES,
  type FinalState,
  replay,
  TRANSITIONS,
} from './action.ts';
export { BoundedMap } from './bounded-map.ts';
export { byTenant, ofOne, ofTenant } from './by-tenant.ts';
export type { Observer, Ran } from './calls.ts';
export { type CheckSummary, checkInstallation, type FoundViolation } from './check/check-installation.ts';
export { PROMISE_OF, type Violation, type ViolationKind } from './check/violation.ts';
export type { ClaimedAction } from './claimed-action.ts';
export type { ClaimPoolRequest, ClaimRequest, ClaimSlotsRequest, PoolClaim } from './claiming.ts';
export {
  type Connections,
  type Database,
  isTransaction,
  type Limits,
  type PoolLoad,
  type Query,
  type Queryable,
  type Transaction,
} from './db.ts';
export { openEmbedded } from './drivers/embedded.ts';
export { openPostgres, type PostgresOptions } from './drivers/postgres.ts';
export type { Host } from './drivers/primary.ts';
export type { Duty, DutyRun } from './duties/duty.ts';
export { dutyRun } from './duties/duty.ts';
export type { Changes, Effect, EffectSql, Facts } from './effects.ts';
export { createEngine, type Engine, type EngineOptions } from './engine.ts';
export { EngineError, type EngineErrorCode, overloaded } from './errors.ts';
export { FairLine } from './fair-line.ts';
export type { CountedEvents, FeedEvent, FeedPage, FeedSubject } from './feed.ts';
export { gather } from './gather.ts';
export { numberImported, type Restored, raiseIncarnation } from './incarnation.ts';
export {
  createMigrate,
  ENGINE_LINE,
  type Migration,
  type MigrationLine,
  type MigrationStatus,
  TABLES_OF_ONE_DATABASE,
} from './migrate.ts';
export { BUSY, type Busy } from './operation.ts';
export type { ActionFilter } from './ops/action-filter.ts';
export type { ActionView, CreatedAction } from './ops/action-view.ts';
export type { CancelAnswer } from './ops/cancel.ts';
export type { Choice } from './ops/choose-and-claim.ts';
export type { Count } from './ops/counts.ts';
export type { Enqueued, NewAction } from './ops/enqueue.ts';
export type { ExtendAnswer } from './ops/extend.ts';
export type { LaneRef } from './ops/lanes.ts';
export type { ActionEvent, ActionPage } from './ops/look-up.ts';
export type { MakeDueAnswer } from './ops/make-due-now.ts';
export type { LaneLoad } from './ops/queue.ts';
export type { RedriveAnswer } from './ops/redrive.ts';
export { saysText } from './payload-text.ts';
export type { GiveReasons, WaitingAction } from './reasons.ts';
export type { ReportAnswer } from './report/item.ts';
export type { ReportRequest } from './report/requests.ts';
export { Room } from './room.ts';
export { hasCome } from './sql.ts';
export { isOutcomeUnknown, NO_WRITABLE_HOST } from './sqlstate.ts';
export { checkText, encodeJson } from './text.ts';
export type { Transition, Wake } from './transition.ts';
export { behindUrgent, type DoorReason, type WaitingFor } from './waiting-for.ts';
export { whileLocked } from './while-locked.ts';
