import type { CheckedIn, Checkin } from '@muster/contracts';
import type { Calls } from './calls.ts';
import type { Mind } from './plan.ts';
import type { Random } from './random.ts';
import type { Rhythm } from './rhythm.ts';

/**
 * A device that checks in: takes its action, works for a while, reports the outcome; or what its mind makes of that.
 */
type Given = NonNullable<CheckedIn['action']>;
type Result = NonNullable<Checkin['result']>;

export interface SimulatedDevice {
  readonly id: string;
  readonly name: string;
  readonly token: string;
  readonly mind: Mind;
  readonly rack: number | null;
  readonly isKiosk: boolean;
}

export interface Devices {
  /** Lives according to its mind, until everything ends. */
  live(device: SimulatedDevice): void;
  /** Checks in once and does what it is given; `workMs` of 0: at once. Returns how many actions it did. */
  visit(device: SimulatedDevice, workMs?: () => number, wait?: number): Promise<number>;
  /** From now on this percentage of actions of this kind fails with this error, on every device. */
  spoil(kind: string, percent: number, error: string): void;
}

const COMES_EVERY_MS = [35_000, 50_000] as const;
const SLEEPS_MS = [120_000, 480_000] as const;
const CRASHED_MS = 75_000;
const WAIT_SECONDS = 20;
const AT_MOST = 20;

const FAULTS = ['no space left on device', 'checksum of download 4711 is wrong', 'battery at 3 %'];

export function createDevices(
  { as, client }: Calls,
  rhythm: Rhythm,
  randomOf: (name: string) => Random,
): Devices {
  // each device has its own, so it behaves the same in any order
  const minds = new Map<string, Random>();
  const chanceOf = ({ name }: SimulatedDevice) => {
    const random = minds.get(name) ?? randomOf(name);
    minds.set(name, random);
    return random;
  };
  const spoilt = new Map<string, { readonly percent: number; readonly error: string }>();

  const say = async (device: SimulatedDevice, body: Checkin): Promise<CheckedIn> =>
    (body.wait
      ? await rhythm.waiting((signal) => client.checkin.checkIn({ ...as(device.token), body, signal }))
      : await client.checkin.checkIn({ ...as(device.token), body })
    ).body;

  function outcomeOf(device: SimulatedDevice, { id, attempt, kind, payload }: Given): Result | null {
    const { mind } = device;
    const random = chanceOf(device);
    const of = { actionId: id, attempt };
    if (mind === 'crashing' && random.percent(40)) return null;
    if (mind === 'busy' && random.percent(50)) return { ...of, status: 'notNow' };
    const bad = spoilt.get(kind);
    if (bad && random.percent(bad.percent)) return { ...of, status: 'failed', error: bad.error };
    if (bad) return { ...of, status: 'done' };
    if (mind === 'broken') return { ...of, status: 'failed', error: FAULTS[0] as string };
    if (mind !== 'attentive' && random.percent(2))
      return { ...of, status: 'failed', error: random.pick(FAULTS) };
    return { ...of, status: 'done', data: answerTo(kind, payload, random) };
  }

  function answerTo(kind: string, payload: unknown, random: Random): object {
    if (kind === 'LOCATE') return { lat: 52.5 + random.between(-1, 1), lon: 13.4 + random.between(-1, 1) };
    if (kind === 'UPDATE')
      return { installed: payload, rebooted: true, seconds: Math.round(random.between(3, 90)) };
    return { ok: true };
  }

  async function visit(
    device: SimulatedDevice,
    workMs = () => chanceOf(device).between(800, 5_000),
    wait = 0,
  ) {
    let { action } = await say(device, wait > 0 ? { wait } : {});
    for (let done = 0; ; done += 1) {
      if (!action || rhythm.isOver || done === AT_MOST) return done;
      await rhythm.pause(workMs());
      if (rhythm.isOver) return done;
      const result = outcomeOf(device, action);
      if (!result) {
        await rhythm.pause(CRASHED_MS);
        return done;
      }
      if (device.mind === 'stuttering') await say(device, { result });
      ({ action } = await say(device, { result }));
    }
  }

  function live(device: SimulatedDevice): void {
    const { mind } = device;
    if (mind === 'away') return;
    const random = chanceOf(device);
    let first = true;
    const gap = () => {
      const usual = mind === 'attentive' ? [50, 500] : COMES_EVERY_MS;
      // the first round is spread, so they do not all check in at once
      const [from, to] = first ? [0, mind === 'attentive' ? 2_000 : COMES_EVERY_MS[1]] : usual;
      first = false;
      const asleep = mind === 'sleepy' && random.percent(25) ? random.between(...SLEEPS_MS) : 0;
      return random.between(from as number, to as number) + asleep;
    };
    rhythm.every(gap, () => visit(device, undefined, mind === 'attentive' ? WAIT_SECONDS : 0));
  }

  return { live, visit, spoil: (kind, percent, error) => void spoilt.set(kind, { percent, error }) };
}
