import type { DeviceAction } from '@muster/contracts';
import type { Random } from './random.ts';

/** Actions for devices. */
const VERSIONS = ['6.4.1', '6.4.2', '7.0.0'];

export const KINDS = ['SYNC', 'LOCK', 'UPDATE', 'LOCATE', 'WIFI', 'REBOOT'] as const;
export type Kind = (typeof KINDS)[number];

export function workOf(kind: Kind, random: Random): DeviceAction {
  // one of a kind at a time: a device that is away must not collect hundreds
  return { kind, payload: payloadOf(kind, random), supersede: { key: kind, mode: 'keep-first' } };
}

function payloadOf(kind: Kind, random: Random): unknown {
  switch (kind) {
    case 'LOCK':
      return { message: 'Ask at the desk', pin: String(Math.floor(random.between(1_000, 9_999))) };
    case 'UPDATE':
      return { version: random.pick(VERSIONS), url: 'https://updates.example/kiosk.img', restart: true };
    case 'WIFI':
      return { ssid: 'floor-2', wifiPassword: `correct-horse-${Math.floor(random.between(100, 999))}` };
    case 'LOCATE':
      return { accuracy: 'coarse' };
    case 'SYNC':
      return { folders: ['menu', 'prices'], since: '2026-11-01' };
    case 'REBOOT':
      return null;
  }
}
