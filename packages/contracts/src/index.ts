export type {
  Action,
  ActionPage,
  ActionWithEvents,
  ActionWithOutcome,
  CancelledMatching,
  Claimed,
  ClaimedAction,
  CountedActions,
  Counts,
  Extended,
  FailureGroup,
  Failures,
  LaneState,
  PauseState,
  Pauses,
  RedrivenMatching,
  Reported,
  RevealedAction,
} from './actions/answers.ts';
export type {
  ActionCopy,
  ActionCount,
  ActionFilter,
  Claim,
  Extend,
  NewAction,
  Pause,
  Redrive,
  RedriveFilter,
  Release,
  Report,
} from './actions/requests.ts';
export { api } from './api.ts';
export type { AuditLine } from './audit.ts';
export type {
  AcceptedBatch,
  Batch,
  BatchPage,
  BatchTarget,
  BatchTargetPage,
  RetriedBatch,
} from './batches/answers.ts';
export type { NewBatch } from './batches/requests.ts';
export type {
  CallbackDeadLetter,
  CallbackEvent,
  CallbackMessage,
  CallbackSigningKeys,
  PublishedCallback,
} from './callbacks/answers.ts';
export type { CallbackBatch } from './callbacks/requests.ts';
export type {
  AssignedAction,
  CheckedIn,
  DeliveredAction,
  DeviceActionStatus,
  Queue,
  QueuedAction,
} from './checkin/answers.ts';
export type { Checkin } from './checkin/requests.ts';
export type { LiveChanged, LiveTick } from './console/live.ts';
export type {
  Found,
  FoundAll,
  Overview,
  Problem,
  Stats,
  StatsRow,
  WaitingGroup,
  WaitingLanes,
} from './console/overview.ts';
export type { SignIn, SignIns } from './console/session.ts';
export {
  type AnswerOf,
  type BodyOf,
  type Endpoint,
  endpoint,
  type ParamsOf,
  type QueryOf,
} from './endpoint.ts';
export type { ActionEvent } from './events.ts';
export type { FeedEvent, FeedPage } from './feed/endpoints.ts';
export type {
  ActionSource,
  CurrentAction,
  Device,
  DevicePage,
  DeviceToken,
  DeviceWithToken,
  Milestone,
  MilestonePage,
} from './fleet/answers.ts';
export {
  type DeviceAction,
  type DeviceChange,
  type DeviceEnrolment,
  type NewDevice,
  newDevice,
  type Targets,
} from './fleet/requests.ts';
export type {
  Beat,
  Heartbeat,
  HeldActions,
  Host,
  HostAction,
  HostActionPage,
  HostActionWithEvents,
  HostLoad,
  HostLoadPage,
  HostLoadWithTimes,
  HostPage,
  HostReported,
  HostWithToken,
  LockedAction,
  LockedActions,
  Service,
  ServiceList,
  StuckAction,
  Times,
} from './hosts/answers.ts';
export type {
  HostChange,
  HostEnrolment,
  HostHeartbeat,
  HostReport,
  NewHost,
  NewHostAction,
  NewService,
  ServiceChange,
} from './hosts/requests.ts';
export type { Limits } from './limits.ts';
export type { Enrolment, Phone, PhoneAnswer, PhonePage, QueuedCommand } from './mdm/answers.ts';
export type { RawCommand } from './mdm/requests.ts';
export type { Bot, BotPage, Order, OrderPage } from './orders/answers.ts';
export { type BotPatch, completion, type NewOrder, type OrderPatch } from './orders/requests.ts';
export {
  CHECKIN_TOPIC,
  type CheckinEvent,
  COMMAND_TOPIC,
  type CommandMessage,
  checkinEvent,
  commandMessage,
} from './pipeline/messages.ts';
export type { PushCertificates } from './push/endpoints.ts';
export { type Refusal, refusal } from './refusal.ts';
export type {
  ClaimedDevice,
  ClaimedDevices,
  HeldDeviceBeat,
  HeldDevices,
  Pc,
  PcHeartbeat,
  PcPage,
  PcWithToken,
  PresentDevices,
  RunningDevice,
  RunningDevices,
  Task,
  TaskDevice,
  TaskDeviceAcknowledged,
  TaskDeviceEvent,
  TaskDeviceEvents,
  TaskDeviceHeartbeat,
  TaskDeviceLine,
  TaskDevicePage,
  TaskDeviceReported,
  TaskDeviceStatus,
  TaskPage,
} from './tasks/answers.ts';
export type {
  AttemptOnly,
  ClaimDevices,
  CompleteDevice,
  FailDevice,
  NewPc,
  NewTask,
  PcChange,
  Presence,
  TaskTargets,
} from './tasks/requests.ts';
export type { NewTenant, Tenant, TenantPage } from './tenants/endpoints.ts';
export type { IssuedToken, Token, TokenPage } from './tokens/answers.ts';
export type { NewToken } from './tokens/requests.ts';
export * from './values.ts';
export type { WaitingFor } from './waiting-for.ts';
export type {
  Webhook,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookDeliveryWithTries,
  WebhookPage,
} from './webhooks/answers.ts';
export type { NewWebhook, ReplayWebhook, WebhookFilter, WebhookPatch } from './webhooks/requests.ts';
export * from './words.ts';
export type { Workflow, WorkflowPage, WorkflowRun, WorkflowRunPage } from './workflows/answers.ts';
export type { NewWorkflow, Schedule, WorkflowChange } from './workflows/requests.ts';
