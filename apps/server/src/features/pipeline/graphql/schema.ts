/** The schema of /graphql. `npm run generate` writes it to apps/server/schema.graphql, and a test compares them. */
export const SDL = /* GraphQL */ `
"A time in ISO 8601, in UTC."
scalar DateTime
scalar JSON

enum Policy { uploaded registered enrolled active locked released deregistered }
enum ExecutionStatus { ACTION_PENDING ACTION_COMPLETED ACTION_FAILED }
"The outcome of the dispatch, not the answer of the device."
enum DispatchStatus { IN_PROGRESS COMPLETED }
enum DispatchRowStatus { PENDING SUCCESS FAILED }
"For a device that cannot be reached: wait for its next contact, or fail the action."
enum Offline { QUEUE FAIL }
"For a busy device: reject the action, or queue it."
enum WhenBusy { REJECT QUEUE }
enum Priority { URGENT NORMAL }
enum AssignedStatus { PENDING COMPLETED }

type Query {
  device(id: ID!): Device
  "In order of id."
  devices(first: Int = 20, after: String, policy: Policy, tag: String, "A serial number, UDID or external id." search: String): DevicePage!
  execution(id: ID!): Execution
  "Newest first."
  executions(first: Int = 20, after: String, deviceId: ID, status: ExecutionStatus): ExecutionPage!
  batch(id: ID!): Batch
  "Newest first; only batches created here."
  batches(first: Int = 20, after: String): BatchPage!
  actionTypes: [ActionType!]!
  messageTemplate(id: ID!): MessageTemplate
  messageTemplates(first: Int = 20, after: String, isActive: Boolean): MessageTemplatePage!
  "Newest first."
  milestones(deviceId: ID!, first: Int = 20, after: String): MilestonePage!
}

type Mutation {
  "Assign an action to one device, as a batch of one. A refusal names the batch in extensions.batchId."
  assignAction(
    deviceId: ID!
    "The number of the action type, 1 to 10."
    actionId: ID!
    messageTemplateId: ID
    phoneNumber: String
    offline: Offline = QUEUE
    whenBusy: WhenBusy = REJECT
    priority: Priority = NORMAL
    "Repeating a request with the same key returns the first result."
    idempotencyKey: String
  ): AssignedAction!
  "Assign an action to up to 10,000 devices. Each one is valid or failed on its own."
  assignBulkAction(
    deviceIds: [ID!]!
    actionId: ID!
    messageTemplateId: ID
    phoneNumber: String
    offline: Offline = QUEUE
    whenBusy: WhenBusy = REJECT
    priority: Priority = NORMAL
    idempotencyKey: String
  ): AssignedBulk!
  createMessageTemplate(name: String!, content: String!): MessageTemplate!
  updateMessageTemplate(id: ID!, name: String, content: String): MessageTemplate!
  setMessageTemplateActive(id: ID!, isActive: Boolean!): MessageTemplate!
}

type Subscription {
  "Every outcome of an execution and every other policy change, for one device or all, as it happens."
  deviceStateChanged(deviceId: ID): DeviceState!
}

type AssignedAction {
  executionId: ID!
  batchId: ID!
  "COMPLETED: the server did it itself, without the device."
  status: AssignedStatus!
  "For Register, if done at once: the token with which the device enrols. Shown once."
  enrolmentToken: String
}
type AssignedBulk {
  batchId: ID!
  valid: [ValidDevice!]!
  failed: [FailedDevice!]!
}
type ValidDevice { deviceId: ID! executionId: ID! enrolmentToken: String }
type FailedDevice { deviceId: ID! code: String! message: String! }

type DeviceState {
  deviceId: ID!
  policy: Policy!
  previousPolicy: Policy!
  "Null: the device did it on its own."
  executionId: ID
  "The status of the execution. One that finished after its timeout stays ACTION_FAILED, although the policy has changed."
  status: ExecutionStatus!
  failedReason: String
  at: DateTime!
}

type Device {
  id: ID!
  name: String!
  externalId: String
  tags: [String!]!
  policy: Policy!
  udid: String
  serial: String
  model: String
  osVersion: String
  "An action is running or waits for its first dispatch."
  isBusy: Boolean!
  createdAt: DateTime!
}
type DevicePage { nodes: [Device!]! cursor: String }

type Execution {
  id: ID!
  commandUuid: ID!
  deviceId: ID!
  status: ExecutionStatus!
  "device_timeout, not_now, apns_bad_token, apns_unregistered, device_error, dispatch_failed, or a code."
  failedReason: String
  errorChain: JSON
  createdAt: DateTime!
  dispatchedAt: DateTime
  endedAt: DateTime
  action: Action!
}
type ExecutionPage { nodes: [Execution!]! cursor: String }

"An assigned action. Each dispatch is an execution."
type Action {
  id: ID!
  "pending, claimed, succeeded, failed, cancelled or expired."
  state: String!
  type: ActionType!
  deviceId: ID!
  batchId: ID!
  offline: Offline!
  priority: Priority!
  messageTemplateId: ID
  "The last ones, oldest first."
  executions(last: Int = 20): [Execution!]!
}

type ActionType {
  id: ID!
  name: String!
  from: [Policy!]!
  to: Policy
  isAssignable: Boolean!
  needsTemplate: Boolean!
}

type Batch {
  id: ID!
  status: DispatchStatus!
  actionType: String
  total: Int!
  pending: Int!
  success: Int!
  failed: Int!
  createdAt: DateTime!
  createdBy: String
  devices(first: Int = 20, after: String, status: DispatchRowStatus): BatchDevicePage!
}
type BatchPage { nodes: [Batch!]! cursor: String }
type BatchDevice {
  "As requested."
  deviceId: ID!
  status: DispatchRowStatus!
  errorCode: String
  executionId: ID
}
type BatchDevicePage { nodes: [BatchDevice!]! cursor: String }

type MessageTemplate {
  id: ID!
  name: String!
  content: String!
  isActive: Boolean!
  createdAt: DateTime!
  updatedAt: DateTime!
}
type MessageTemplatePage { nodes: [MessageTemplate!]! cursor: String }

type Milestone {
  id: ID!
  type: String!
  at: DateTime!
  actionId: ID
  source: String
  by: String
  policy: Policy
}
type MilestonePage { nodes: [Milestone!]! cursor: String }
`;
