import { randomUUID } from 'node:crypto';
import { Dropped, Phone, Refused, type TestCertificate, testCertificate } from '@muster/mdm/simulation';
import { Random } from '../torture/random.ts';

/**
 * Phones with a bad network, and commands for them: connections break, answers arrive twice, commands are refused for now,
 * certificates are renewed. In the end each command was done, each action says so, and no device is busy.
 */
export interface CrowdOptions {
  readonly phones: number;
  readonly commandsEach: number;
  readonly seed: string;
  readonly issuer: TestCertificate;
  /** Of the current server: it may be killed and started again. */
  readonly url: () => string;
  readonly operator: string;
  /** A request may be carried out long after it broke off, at a node that stood still, and end an enrolment made since. */
  readonly mayComeLate?: boolean;
  /** Called now and then, with the share of finished commands. */
  readonly onProgress?: (done: number) => void;
}

export interface CrowdReport {
  readonly commands: number;
  readonly connections: number;
  /** Connections that the network or the server has broken. */
  readonly broken: number;
  /** What is wrong; empty if nothing is. */
  readonly faults: string[];
}

interface Member {
  readonly phone: Phone;
  readonly deviceId: string;
  readonly random: Random;
  /** Commands by their ids, with their actions. */
  readonly expected: Map<string, string>;
  readonly done: Set<string>;
}

const AT_ONCE = 32;
const KINDS = ['ProfileList', 'SecurityInfo', 'DeviceLock'];

export async function playPhones(options: CrowdOptions): Promise<CrowdReport> {
  const { commandsEach, issuer, operator } = options;
  const dice = new Random(options.seed);
  let [connections, broken] = [0, 0];

  /** Repeats until it is answered: each request can be repeated. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever came
  async function call(method: string, path: string, body?: object, key?: string): Promise<any> {
    for (;;)
      try {
        const response = await fetch(options.url() + path, {
          method,
          headers: {
            authorization: `Bearer ${operator}`,
            ...(body ? { 'content-type': 'application/json' } : {}),
            ...(key ? { 'idempotency-key': key } : {}),
          },
          ...(body ? { body: JSON.stringify(body) } : {}),
        });
        if (response.status < 500) return await response.json();
      } catch {
        await turn();
      }
  }

  /** A request broken by the network is retried; a final refusal by the server is a fault of the server. */
  async function persist(work: () => Promise<unknown>, evenRefused = false): Promise<void> {
    for (;;)
      try {
        await work();
        return;
      } catch (error) {
        if (!isPassing(error) && !(evenRefused && error instanceof Refused)) throw error;
        broken += 1;
        await turn();
      }
  }

  async function enrol(n: number): Promise<Member> {
    const random = dice.fork(`phone ${n}`);
    const name = `phone ${options.seed} ${n}.`; // with its end, so that it is no part of another's

    let device = await call('POST', '/api/devices', { name, externalId: name });
    if (!device.id) [device] = (await call('GET', `/api/devices?text=${encodeURIComponent(name)}`)).devices;
    const phone = new Phone({ by: random.pick(['signature', { header: 'x-client-cert' }] as const) });
    const identity = await testCertificate({ commonName: name, issuer, purposes: ['clientAuth'] });
    await persist(async () => {
      // a request that broke off may have used it up
      const { url } = await call('POST', `/api/devices/${device.id}/mdm/enrolment`, {});
      await phone.enrol(url, { identity });
    }, options.mayComeLate);
    const expected = new Map<string, string>();
    for (let c = 0; c < commandsEach; c += 1) {
      const key = randomUUID();
      const path = `/api/devices/${device.id}/mdm/commands`;
      const { id, commandUuid } = await call('POST', path, { requestType: random.pick(KINDS) }, key);
      expected.set(commandUuid, id);
    }
    return { phone, deviceId: device.id, random, expected, done: new Set() };
  }

  async function connect({ phone, random, done }: Member): Promise<void> {
    const { channel } = phone;
    channel.duplicates = random.chance(0.2);
    if (random.chance(0.3)) channel.dropNext = 1;
    phone.answer = (command) => {
      if (random.chance(0.15)) return { status: 'NotNow' };
      done.add(command.commandUuid);
      return { status: 'Acknowledged' };
    };
    if (random.chance(0.1)) {
      channel.rotateToken();
      await phone.tokenUpdate();
    }
    if (random.chance(0.05)) {
      // as in the profile for SCEP: the name makes it a certificate of this enrolment
      const commonName = new URL(phone.profile?.mdm.serverUrl as string).searchParams.get('e') as string;
      phone.identity = await testCertificate({ commonName, issuer, purposes: ['clientAuth'] });
      await persist(() => phone.authenticate());
      await persist(() => phone.tokenUpdate());
    }
    connections += 1;
    await phone.connect();
  }

  const isOver = ({ expected, done, phone }: Member) =>
    phone.channel.unsent === null && [...expected.keys()].every((uuid) => done.has(uuid));

  const members: Member[] = [];
  await eachOf(
    Array.from({ length: options.phones }, (_, n) => n),
    async (n) => void members.push(await enrol(n)),
  );
  const commands = options.phones * commandsEach;
  await eachOf(members, async (member) => {
    while (!isOver(member)) {
      await persist(() => connect(member));
      options.onProgress?.(members.reduce((sum, one) => sum + one.done.size, 0) / commands);
    }
  });
  const faults: string[] = [];
  await eachOf(members, async ({ deviceId, expected, phone }) => {
    const strangers = phone.channel.received.filter((one) => !expected.has(one.commandUuid));
    for (const { requestType } of strangers)
      faults.push(`device ${deviceId} got a ${requestType} that was not queued`);
    for (const [uuid, id] of expected) {
      const { state } = await call('GET', `/api/actions/${id}`);
      if (state !== 'succeeded') faults.push(`command ${uuid} was done, and action ${id} is ${state}`);
    }
    const { current, queueDepth } = await call('GET', `/api/devices/${deviceId}`);
    if (current !== null || queueDepth > 0) faults.push(`device ${deviceId} is busy`);
  });
  return { commands, connections, broken, faults };
}

const isPassing = (error: unknown) =>
  error instanceof Dropped || (error instanceof Refused && error.reply.status >= 500);

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
    }),
  );
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 50));
