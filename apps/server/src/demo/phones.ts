import { type FakeApns, Phone } from '@muster/mdm/simulation';
import type { Calls } from './calls.ts';
import type { Random } from './random.ts';
import type { Rhythm } from './rhythm.ts';

/**
 * Phones that enrol by profile and SCEP and come when they are pushed: one refuses, one repeats itself, one is off, one
 * cannot be pushed.
 */
const OWNERS = ['reception', 'Maria', 'loading dock', 'Jonas', 'demo table', 'lost property'];
const BUSY = 1;
const STUTTERS = 2;
const OFF = 4;
const GONE = 5;

export interface SimulatedPhone {
  readonly id: string;
  readonly name: string;
  readonly isOff: boolean;
}

export async function enrolPhones(
  { as, client }: Calls,
  rhythm: Rhythm,
  { apns, count, operator }: { readonly apns: FakeApns; readonly count: number; readonly operator: string },
): Promise<{ phones: SimulatedPhone[]; stop(): Promise<void> }> {
  const call = as(operator);
  const listening: { stop(): Promise<void> }[] = [];
  const phones: SimulatedPhone[] = [];
  for (let n = 0; n < count; n += 1) {
    const name = `iPhone ${OWNERS[n % OWNERS.length]}${n < OWNERS.length ? '' : ` ${n + 1}`}`;
    const { body } = await client.devices.create({ ...call, body: { name, tags: ['phone'] } });
    const { id } = body;
    const phone = new Phone({ serial: `F2LDEMO${String(n + 1).padStart(3, '0')}`, osVersion: '26.1' });
    if (n % OWNERS.length === BUSY) phone.busyFor.add('DeviceLock');
    phone.channel.duplicates = n % OWNERS.length === STUTTERS;
    const invitation = await client.mdm.enrol({ ...call, params: { id } });
    await phone.enrol(invitation.body.url);
    const isOff = n % OWNERS.length === OFF;
    if (n % OWNERS.length === GONE)
      apns.answer(Buffer.from(phone.channel.token).toString('hex'), { status: 410, reason: 'Unregistered' });
    if (!isOff) listening.push(phone.channel.listen(apns));
    phones.push({ id, name, isOff });
  }
  return {
    phones,
    async stop() {
      // a conversation cut off by the end of the server is not an error
      for (const one of listening) await rhythm.attempt(() => one.stop());
    },
  };
}

/** Now and then an operator queries them, or locks one. */
export function manage(
  { as, client }: Calls,
  rhythm: Rhythm,
  random: Random,
  phones: readonly SimulatedPhone[],
  operator: string,
): void {
  const there = phones.filter(({ isOff }) => !isOff);
  const command = (id: string, requestType: string, keys: Record<string, unknown>) =>
    client.mdm.command({ ...as(operator), params: { id }, body: { requestType, keys } });

  for (const { id, isOff } of phones)
    if (isOff) rhythm.after(0, () => command(id, 'DeviceLock', { Message: 'Please charge me' }));
  if (there.length === 0) return;
  rhythm.every(
    () => random.between(8_000, 25_000),
    () =>
      random.percent(70)
        ? command(random.pick(there).id, 'DeviceInformation', { Queries: ['OSVersion', 'SerialNumber'] })
        : command(random.pick(there).id, 'DeviceLock', { Message: 'Back at noon' }),
  );
}
