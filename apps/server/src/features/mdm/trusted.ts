import type { X509Certificate } from 'node:crypto';
import { BoundedMap } from '@muster/engine';
import { Trust } from '@muster/mdm';
import type { OwnAuthority } from './authority.ts';

const MOST_KNOWN = 20_000;

/**
 * The authorities that phones' certificates must come from: those of the settings and our own. That one of them issued
 * a certificate does not change, so it is verified once; whether it is valid today is checked each time.
 */
class RememberingTrust extends Trust {
  readonly #believed = new BoundedMap<string, { readonly from: number; readonly to: number }>(MOST_KNOWN);

  override check(certificate: X509Certificate, now: Date): void {
    const known = this.#believed.get(certificate.fingerprint256);
    if (known && known.from <= now.getTime() && now.getTime() <= known.to) return;
    super.check(certificate, now);
    this.#believed.set(certificate.fingerprint256, {
      from: Date.parse(certificate.validFrom),
      to: Date.parse(certificate.validTo),
    });
  }
}

export function createTrusted(own: OwnAuthority, configured: string | null) {
  let known: { readonly pem: string; readonly trust: Trust } | null | undefined;

  async function load() {
    const pem = [configured, (await own.peek())?.pem].filter(Boolean).join('\n');
    if (pem === '') known = null;
    else if (known?.pem !== pem) known = { pem, trust: new RememberingTrust(pem) };
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
