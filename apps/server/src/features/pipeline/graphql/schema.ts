/** What can be asked for at /graphql. `npm run generate` writes it to apps/server/schema.graphql, and a test compares. */
export const SDL = /* GraphQL */ `
"An instant, as ISO 8601 in UTC."
scalar DateTime
scalar JSON

enum Policy { uploaded registered enrolled active locked released deregistered }
enum ExecutionStatus { ACTION_PENDING ACTION_COMPLETED ACTION_FAILED }
"What became of the dispatch, not of the device's answer."
enum DispatchStatus { IN_PROGRESS COMPLETED }
enum DispatchRowStatus { PENDING SUCCESS FAILED }
"What becomes of an action whose device cannot be reached: it waits for the next contact, or it has failed."
enum Offline { QUEUE FAIL }
"What becomes of an action for a device that is busy."
enum WhenBusy { REJECT QUEUE }
enum Priority { URGENT NORMAL }
enum AssignedStatus { PENDING COMPLETED }

type Query {
  device(id: ID!): Device
  "In the order of their ids."
  devices(first: Int = 20, after: String, policy: Policy, tag: String, "A serial number, UDID or external id." search: String): DevicePage!
  execution(id: ID!): Execution
  "Newest first."
  executions(first: Int = 20, after: String, deviceId: ID, status: ExecutionStatus): ExecutionPage!
  batch(id: ID!): Batch
  "Newest first, those of this interface."
  batches(first: Int = 20, after: String): BatchPage!
  actionTypes: [ActionType!]!
  messageTemplate(id: ID!): MessageTemplate
  messageTemplates(first: Int = 20, after: String, isActive: Boolean): MessageTemplatePage!
  "Newest first."
  milestones(deviceId: ID!, first: Int = 20, after: String): MilestonePage!
}

type Mutation {
  "One action for one device. A batch of one; of a refusal it is in extensions.batchId."
  assignAction(
    deviceId: ID!
    "The number of the action type, 1 to 10."
    actionId: ID!
    messageTemplateId: ID
    phoneNumber: String
    offline: Offline = QUEUE
    whenBusy: WhenBusy = REJECT
    priority: Priority = NORMAL
    "Sent again, the same request is answered as the first time."
    idempotencyKey: String
  ): AssignedAction!
  "One action for at most 10,000 devices. Each is valid or failed by itself."
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
  "Every outcome of an execution, and every other change of a policy, as it happens; of one device or of all."
  deviceStateChanged(deviceId: ID): DeviceState!
}

type AssignedAction {
  executionId: ID!
  batchId: ID!
  "COMPLETED: nobody but the server took part."
  status: AssignedStatus!
  "Of Register, if it was done at once: by this the device enrols. It is shown once."
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
  "Null: the device has done it of its own accord."
  executionId: ID
  "Of the execution. One that the device did after its time stays ACTION_FAILED; the policy has moved all the same."
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
  "Something runs on it, or an action awaits its first dispatch."
  isBusy: Boolean!
  createdAt: DateTime!
}
type DevicePage { nodes: [Device!]! cursor: String }

type Execution {
  id: ID!
  commandUuid: ID!
  deviceId: ID!
  status: ExecutionStatus!
  "device_timeout, apns_bad_token, apns_unregistered, device_error, dispatch_failed, or a code."
  failedReason: String
  errorChain: JSON
  createdAt: DateTime!
  dispatchedAt: DateTime
  endedAt: DateTime
  action: Action!
}
type ExecutionPage { nodes: [Execution!]! cursor: String }

"What was asked for. It has as many executions as it took."
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
  "The last ones, in their order."
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
  "As it was asked for."
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
