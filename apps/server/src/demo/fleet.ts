import type { FakeApns } from '@muster/mdm/simulation';
import type { Calls } from './calls.ts';
import type { SimulatedDevice } from './device.ts';
import type { SimulatedHost } from './host.ts';
import { enrolPhones, type SimulatedPhone } from './phones.ts';
import type { FleetSize, Plan } from './plan.ts';
import type { SimulatedRack } from './rack.ts';
import type { Rhythm } from './rhythm.ts';

/** Registers the fleet at the server, as an operator does. */
const UNITS = ['nginx.service', 'app@blue.service', 'backup.timer'];

export interface Fleet {
  readonly devices: readonly SimulatedDevice[];
  readonly racks: readonly SimulatedRack[];
  readonly hosts: readonly SimulatedHost[];
  readonly bots: readonly { readonly id: string; readonly token: string }[];
  readonly phones: readonly SimulatedPhone[];
  stop(): Promise<void>;
}

export async function registerFleet(
  calls: Calls,
  rhythm: Rhythm,
  {
    apns,
    operator,
    plan,
    size,
  }: {
    readonly apns: FakeApns;
    readonly operator: string;
    readonly plan: Plan;
    readonly size: FleetSize;
  },
): Promise<Fleet> {
  const { as, client } = calls;
  const call = as(operator);

  async function addRack({ name, slots }: { readonly name: string; readonly slots: number }) {
    const { body } = await client.pcs.create({ ...call, body: { name, slots } });
    return { id: body.id, name, token: body.runnerToken };
  }

  async function addHost({ name, slots, away }: Plan['hosts'][number]): Promise<SimulatedHost> {
    const { body: host } = await client.hosts.create({ ...call, body: { name, slots } });
    const params = { hostId: host.id };
    const services = await Promise.all(
      UNITS.map(
        async (unitName) => (await client.services.create({ ...call, params, body: { unitName } })).body.id,
      ),
    );
    return { id: host.id, name, token: host.agentToken, services, away };
  }

  async function addBot() {
    const { body } = await client.bots.create(call);
    return { id: body.id, token: body.botToken };
  }

  /** In one request. */
  async function addDevices(racks: readonly SimulatedRack[]): Promise<SimulatedDevice[]> {
    if (plan.devices.length === 0) return [];
    const lines = plan.devices.map(({ name, externalId, tags, rack }) =>
      JSON.stringify({ name, externalId, tags, ...(rack === null ? {} : { pcId: racks[rack]?.id }) }),
    );
    const { body } = await client.devices.import({
      ...call,
      contentType: 'application/x-ndjson',
      body: `${lines.join('\n')}\n`,
    });
    const answers = body.trim().split('\n').map(readLine);
    return plan.devices.map(({ name, mind, rack, tags }, n) => {
      const { deviceToken, error, id } = answers[n] ?? {};
      if (id === undefined || deviceToken === undefined) throw new Error(`${name}: ${error}`);
      return { id, name, token: deviceToken, mind, rack, isKiosk: tags.includes('kiosk') };
    });
  }

  const racks = await each(plan.racks, addRack);
  const devices = await addDevices(racks);
  const hosts = await each(plan.hosts, addHost);
  const bots = await each(Array.from({ length: size.bots }), addBot);
  const { phones, stop } = await enrolPhones(calls, rhythm, { apns, count: size.phones, operator });
  return { devices, racks, hosts, bots, phones, stop };
}

const readLine = (line: string) =>
  JSON.parse(line) as { readonly id?: string; readonly deviceToken?: string; readonly error?: string };

/** One after the other, so that ids follow the names. */
async function each<T, R>(list: readonly T[], act: (one: T) => Promise<R>): Promise<R[]> {
  const made: R[] = [];
  for (const one of list) made.push(await act(one));
  return made;
}
