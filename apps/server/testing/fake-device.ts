import type { Answer, TestServer } from './test-server.ts';

/** A device as it is out there: it knows its token, comes now and then, and does one thing at a time. */
export interface FakeDevice {
  readonly id: string;
  token: string;
  /** Comes with what it has to say. */
  checkIn(body?: object): Promise<Answer['body']>;
  /** Comes with a result of an action it was given. */
  report(action: { id: string; attempt: number }, status?: string, more?: object): Promise<Answer['body']>;
  assign(kind: string, more?: object): Promise<string>;
  show(): Promise<Answer['body']>;
  queue(): Promise<Answer['body'][]>;
  /** Oldest first. */
  milestones(): Promise<Answer['body'][]>;
}

let made = 0;

export async function fakeDevice(t: TestServer, body: object = {}): Promise<FakeDevice> {
  made += 1;
  const registered = await t.post('/api/devices', { name: `device ${made}`, ...body });
  if (registered.status !== 201) throw new Error(`No device: ${JSON.stringify(registered.body)}`);
  return deviceWith(t, registered.body.id, t.secret(registered.body.deviceToken));
}

export function deviceWith(t: TestServer, id: string, token: string): FakeDevice {
  async function ok(answer: Promise<Answer>, status = 200): Promise<Answer['body']> {
    const got = await answer;
    if (got.status !== status)
      throw new Error(`${got.status} instead of ${status}: ${JSON.stringify(got.body)}`);
    return got.body;
  }
  const device: FakeDevice = {
    id,
    token,
    checkIn: (body = {}) => ok(t.post('/api/checkin', body, { token: device.token })),
    report: (action, status = 'done', more = {}) =>
      device.checkIn({ result: { actionId: action.id, attempt: action.attempt, status, ...more } }),
    assign: async (kind, more = {}) =>
      (await ok(t.post(`/api/devices/${id}/actions`, { kind, ...more }), 201)).id,
    show: () => ok(t.get(`/api/devices/${id}`)),
    queue: async () => (await ok(t.get(`/api/devices/${id}/queue`))).actions,
    milestones: async () => (await ok(t.get(`/api/devices/${id}/milestones?limit=500`))).milestones.reverse(),
  };
  return device;
}
