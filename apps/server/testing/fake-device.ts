import type { Checkin, DeviceAction, NewDevice } from '@muster/contracts';
import type { Answer, TestServer } from './test-server.ts';

type Result = NonNullable<Checkin['result']>;

/** A device as in the field: it knows its token, checks in now and then, and does one thing at a time. */
export interface FakeDevice {
  readonly id: string;
  token: string;
  /** Checks in with this body. */
  checkIn(body?: Checkin): Promise<Answer['body']>;
  /** Checks in with the result of an action it holds. */
  report(
    action: { id: string; attempt: number },
    status?: Result['status'],
    more?: Partial<Result>,
  ): Promise<Answer['body']>;
  assign(kind: string, more?: Partial<DeviceAction>): Promise<string>;
  show(): Promise<Answer['body']>;
  queue(): Promise<Answer['body'][]>;
  /** Oldest first. */
  milestones(): Promise<Answer['body'][]>;
}

let made = 0;

export async function fakeDevice(t: TestServer, body: Partial<NewDevice> = {}): Promise<FakeDevice> {
  made += 1;
  const { body: device } = await t.client().devices.create({ body: { name: `device ${made}`, ...body } });
  return deviceWith(t, device.id, t.secret(device.deviceToken));
}

export function deviceWith(t: TestServer, id: string, token: string): FakeDevice {
  const operator = t.client();
  const self = t.client(() => device.token);
  const params = { id };
  const device: FakeDevice = {
    id,
    token,
    checkIn: async (body = {}) => (await self.checkin.checkIn({ body })).body,
    report: (action, status = 'done', more = {}) =>
      device.checkIn({ result: { actionId: action.id, attempt: action.attempt, status, ...more } }),
    assign: async (kind, more = {}) =>
      (await operator.checkin.assign({ params, body: { kind, ...more } })).body.id,
    show: async () => (await operator.devices.get({ params })).body,
    queue: async () => (await operator.checkin.queue({ params })).body.actions,
    milestones: async () =>
      (await operator.devices.milestones({ params, query: { limit: 500 } })).body.milestones.reverse(),
  };
  return device;
}
