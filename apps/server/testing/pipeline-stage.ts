import { expect } from 'vitest';
import { type EchoFleet, echoFleet } from './echo-fleet.ts';
import { type TestServer, type TestServerOptions, testServer } from './test-server.ts';

/** A server with devices of another vendor, and common steps of pipeline tests. */
export interface PipelineStage {
  readonly t: TestServer;
  readonly echo: EchoFleet;
  /** The data; errors are thrown with their codes. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  ask(document: string, variables?: object, token?: string): Promise<any>;
  /** The codes of the refusal, or []. */
  codesOf(document: string, variables?: object, token?: string): Promise<string[]>;
  assign(
    deviceId: string,
    actionId: number,
    more?: object,
  ): Promise<{ executionId: string; batchId: string; status: string }>;
  refusal(deviceId: string, actionId: number, more?: object): Promise<string | undefined>;
  device(): Promise<string>;
  /** A device that is active and may be locked. */
  active(): Promise<{ id: string; udid: string }>;
  policy(deviceId: string): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: the same
  execution(id: string): Promise<any>;
  settled(executionId: string, status?: string): Promise<void>;
  /** Commands for one device. */
  commandsOf(udid: string): EchoFleet['commands'];
}

const ASSIGN = `mutation ($deviceId: ID!, $actionId: ID!, $messageTemplateId: ID, $phoneNumber: String, $offline: Offline,
  $whenBusy: WhenBusy, $priority: Priority, $idempotencyKey: String) {
  assignAction(deviceId: $deviceId, actionId: $actionId, messageTemplateId: $messageTemplateId, phoneNumber: $phoneNumber,
    offline: $offline, whenBusy: $whenBusy, priority: $priority, idempotencyKey: $idempotencyKey) {
    executionId batchId status enrolmentToken } }`;

const EXECUTION = `query ($id: ID!) { execution(id: $id) { id commandUuid status failedReason errorChain deviceId dispatchedAt endedAt
  action { id state type { name } batchId executions { id commandUuid status failedReason } } } }`;

export async function pipelineStage(options: TestServerOptions = {}): Promise<PipelineStage> {
  const echo = echoFleet();
  const t = await testServer({ clock: true, ...options, features: [echo.feature] });
  let devices = 0;

  const post = async (query: string, variables: object = {}, token?: string) => {
    const { body } = await t.post('/graphql', { query, variables }, token === undefined ? {} : { token });
    return body;
  };
  const stage: PipelineStage = {
    t,
    echo,
    async ask(document, variables, token) {
      const { data, errors } = await post(document, variables, token);
      if (errors) throw new Error(JSON.stringify(errors));
      return data;
    },
    async codesOf(document, variables, token) {
      const { errors = [] } = await post(document, variables, token);
      return errors.map((error: { extensions?: { code?: string } }) => error.extensions?.code);
    },
    async assign(deviceId, actionId, more = {}) {
      const { assignAction } = await stage.ask(ASSIGN, { deviceId, actionId: String(actionId), ...more });
      if (assignAction.enrolmentToken) t.secret(assignAction.enrolmentToken);
      return assignAction;
    },
    refusal: async (deviceId, actionId, more = {}) =>
      (await stage.codesOf(ASSIGN, { deviceId, actionId: String(actionId), ...more }))[0],
    async device() {
      devices += 1;
      const { id, deviceToken } = (await t.post('/api/devices', { name: `phone ${devices}` })).body;
      t.secret(deviceToken);
      return id;
    },
    async active() {
      const id = await stage.device();
      await stage.assign(id, 2);
      const udid = `UDID-${id}`;
      await echo.enrol(id, udid);
      await expect.poll(() => stage.policy(id)).toBe('active');
      return { id, udid };
    },
    policy: async (deviceId) =>
      (await stage.ask('query ($id: ID!) { device(id: $id) { policy } }', { id: deviceId })).device.policy,
    execution: async (id) => (await stage.ask(EXECUTION, { id })).execution,
    async settled(executionId, status = 'ACTION_COMPLETED') {
      await expect.poll(async () => (await stage.execution(executionId)).status).toBe(status);
    },
    commandsOf: (udid) => echo.commands.filter(({ device_udid }) => device_udid === udid),
  };
  return stage;
}
