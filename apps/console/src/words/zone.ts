import { useSyncExternalStore } from 'react';
import { remembered } from './remembered.ts';
import type { Zone } from './times.ts';

/** Local or UTC, for every time on the page, charts included. */
const zone = remembered<Zone>('muster-zone', ['local', 'utc'], 'local');

export function useZone(): readonly [Zone, (zone: Zone) => void] {
  return [useSyncExternalStore(zone.watch, zone.read), zone.write];
}
