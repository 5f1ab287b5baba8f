import type { Calls } from './calls.ts';
import type { Devices, SimulatedDevice } from './device.ts';
import type { Fleet } from './fleet.ts';
import type { People } from './people.ts';
import type { Plan } from './plan.ts';
import type { RackRunner } from './rack.ts';
import type { Rhythm } from './rhythm.ts';

/** What the past, the first minute and everyday operation share. */
export interface Stage {
  readonly calls: Calls;
  readonly devices: Devices;
  readonly fleet: Fleet;
  readonly people: People;
  readonly plan: Plan;
  readonly rhythm: Rhythm;
  /** In the order of the racks. */
  readonly runners: readonly RackRunner[];
  /** Runs these duties now: in the simulated past, time passes faster than housekeeping runs. */
  tick(...duties: string[]): Promise<void>;
}

export const INSTALL = 'INSTALL';

/** Devices outside of racks, with one of these minds. */
export function withMind({ fleet }: Stage, ...minds: SimulatedDevice['mind'][]): SimulatedDevice[] {
  return fleet.devices.filter(({ mind, rack }) => rack === null && minds.includes(mind));
}

export const kiosksOf = (stage: Stage): SimulatedDevice[] =>
  withMind(stage, 'ordinary', 'stuttering').filter(({ isKiosk }) => isKiosk);

/** The device whose queue waits for ever: it never checks in. */
export const awaitedOf = ({ fleet, plan }: Stage): SimulatedDevice | undefined => fleet.devices[plan.awaited];
