import type { Caller } from './caller.ts';

/**
 * Callers by the hash of their token, for at most ten seconds, so that a busy worker does not cost a look-up per
 * request. A revocation is told to every node at once; the ten seconds are for the case that the news is lost.
 */
const KEPT_MS = 10_000;
const MOST = 50_000;

interface Entry {
  readonly caller: Caller;
  readonly until: number;
}

export class TokenCache {
  readonly #byHash = new Map<string, Entry>();
  /** Raised by every revocation: a look-up that began before it must not be remembered after it. */
  #version = 0;

  get version(): number {
    return this.#version;
  }

  get(hash: string): Caller | undefined {
    const entry = this.#byHash.get(hash);
    if (!entry) return undefined;
    if (performance.now() < entry.until) return entry.caller;
    this.#byHash.delete(hash);
    return undefined;
  }

  keep(hash: string, caller: Caller, version: number): void {
    if (version !== this.#version) return;
    if (this.#byHash.size >= MOST) {
      const oldest = this.#byHash.keys().next();
      if (!oldest.done) this.#byHash.delete(oldest.value);
    }
    this.#byHash.set(hash, { caller, until: performance.now() + KEPT_MS });
  }

  /** Anything may have been revoked. */
  clear(): void {
    this.#version += 1;
    this.#byHash.clear();
  }

  drop(tenantId: number, tokenId: string): void {
    this.#version += 1;
    for (const [hash, { caller }] of this.#byHash)
      if (caller.tenantId === tenantId && caller.tokenId === tokenId) this.#byHash.delete(hash);
  }
}
