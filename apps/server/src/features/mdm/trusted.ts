import { BoundedMap } from '@muster/engine';
import { type Remembered, Trust } from '@muster/mdm';
import type { OwnAuthority } from './authority.ts';

/** At most 42 MB, if they all sign. */
const MOST_KNOWN = 10_000;

/** The authorities that phones' certificates must come from: those of the settings and our own. */
export function createTrusted(own: OwnAuthority, configured: string | null) {
  let known: { readonly pem: string; readonly trust: Trust } | null | undefined;

  async function load() {
    const pem = [configured, (await own.peek())?.pem].filter(Boolean).join('\n');
    if (pem === '') known = null;
    else if (known?.pem !== pem)
      known = { pem, trust: new Trust(pem, new BoundedMap<string, Remembered>(MOST_KNOWN)) };
    return known ?? null;
  }

  return {
    /** Null: no authority exists yet that a phone could have a certificate of. */
    get: async () => (known === undefined ? load() : known),
    /** Another node may have made the authority meanwhile. */
    again: load,
  };
}

export type Trusted = ReturnType<typeof createTrusted>;
