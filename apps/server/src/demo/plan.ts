import { type Random, randomOf } from './random.ts';

/** The size of the fleet and the role of each device: the same for the same seed. */
export interface FleetSize {
  readonly seed: string;
  readonly devices: number;
  readonly hosts: number;
  readonly pcs: number;
  readonly bots: number;
  readonly phones: number;
}

export const FLEET: FleetSize = { seed: 'muster', devices: 1_000, hosts: 50, pcs: 10, bots: 20, phones: 6 };

/**
 * attentive: waits for work, is never away. ordinary: checks in now and then. sleepy: away for minutes. away: never
 * checks in. broken: its actions fail. busy: says "not now". crashing: dies at work. stuttering: reports everything
 * twice.
 */
export type Mind =
  | 'attentive'
  | 'ordinary'
  | 'sleepy'
  | 'away'
  | 'broken'
  | 'busy'
  | 'crashing'
  | 'stuttering';

export interface PlannedDevice {
  readonly name: string;
  readonly externalId: string;
  readonly tags: string[];
  readonly mind: Mind;
  /** The number of its rack. */
  readonly rack: number | null;
}

export interface Plan {
  /** The place of the one device whose queue waits for ever: it never checks in. */
  readonly awaited: number;
  readonly devices: readonly PlannedDevice[];
  readonly racks: readonly { readonly name: string; readonly slots: number }[];
  readonly hosts: readonly { readonly name: string; readonly slots: number | null; readonly away: boolean }[];
  random(part: string): Random;
}

const ATTENTIVE = 0.02;
const OF_RACKS = 0.2;
const TABLETS = 0.42;
const PER_RACK = 20;
const SITES = ['berlin', 'lyon', 'porto', 'turku'];

export function planFleet(size: FleetSize): Plan {
  const random = (part: string) => randomOf(`${size.seed} ${part}`);
  const chance = random('plan');
  const tablets = Math.ceil(size.devices * TABLETS);
  const inRacks = Math.min(size.pcs * PER_RACK, Math.ceil(size.devices * OF_RACKS));
  const devices = Array.from({ length: size.devices }, (_, n): PlannedDevice => {
    const isTablet = n < tablets;
    const mind = mindOf(n, { ...size, tablets, chance });
    const number = String(isTablet ? n + 1 : n - tablets + 1).padStart(4, '0');
    // tablets of racks are placed before the last ones
    const place = n - (tablets - inRacks - Math.floor(tablets * 0.05));
    const rack = isTablet && place >= 0 && place < inRacks ? Math.floor((place * size.pcs) / inRacks) : null;
    return {
      name: `${isTablet ? 'Tablet' : 'Kiosk'} ${number}`,
      externalId: `SN-${isTablet ? 'T' : 'K'}${number}`,
      tags: [
        isTablet ? 'tablet' : 'kiosk',
        `site:${chance.pick(SITES)}`,
        ...(mind === 'attentive' ? ['showroom'] : []),
      ],
      mind,
      rack,
    };
  });
  return {
    awaited: awaited(tablets),
    devices,
    racks: Array.from({ length: size.pcs }, (_, n) => ({
      name: `rack-${n + 1}`,
      slots: Math.round(chance.between(6, 12)),
    })),
    hosts: Array.from({ length: size.hosts }, (_, n) => ({
      name: n % 5 === 4 ? `db-${(n + 1) / 5}` : `web-${n + 1 - Math.floor(n / 5)}`,
      slots: n % 10 === 2 ? 1 : null,
      away: n % 12 === 11,
    })),
    random,
  };
}

const awaited = (tablets: number) => Math.max(2, Math.floor(tablets * 0.982) - 1);

function mindOf(
  n: number,
  { devices, tablets, chance }: FleetSize & { tablets: number; chance: Random },
): Mind {
  const dice = chance.next() * 100;
  // every third of the first ones, so the first page of a list shows all kinds
  if (n % 3 === 0 && n < 3 * Math.max(2, Math.ceil(devices * ATTENTIVE))) return 'attentive';
  // one tablet that never comes
  if (n === awaited(tablets)) return 'away';
  if (dice < 10) return 'sleepy';
  if (dice < 14) return 'away';
  if (dice < 16.5) return 'broken';
  if (dice < 19) return 'busy';
  if (dice < 21) return 'crashing';
  return dice < 25 ? 'stuttering' : 'ordinary';
}
