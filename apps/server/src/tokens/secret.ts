import { createHash, randomBytes } from 'node:crypto';
import { isTokenKind, type TokenKind } from '@muster/contracts/words';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';

/**
 * `mst_<kind>_<tenant>_<secret>`: kind and tenant in clear text, so the look-up names its tenant; the secret is 256
 * random bits. Only the SHA-256 of the whole text is stored: a random secret cannot be guessed, so a slow hash would
 * only slow down every request.
 */
const FORM = /^mst_([a-z]+(?:-[a-z]+)*)_([1-9]\d{0,9})_[A-Za-z0-9_-]{43}$/;
/** Longer texts are not looked up. */
const LONGEST = 1_024;
const SHORTEST_OF_ONES_OWN = 32;

export interface Presented {
  readonly tenantId: number;
  /** Null: a free text, as the setting for the operator token allows. */
  readonly kind: TokenKind | null;
  readonly sha256: Buffer;
}

export function newSecret(kind: TokenKind, tenantId: number): string {
  return `mst_${kind}_${tenantId}_${randomBytes(32).toString('base64url')}`;
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** What a bearer text says about itself, or null if it cannot be one of our tokens. */
export function readSecret(text: string): Presented | null {
  if (text.length < SHORTEST_OF_ONES_OWN || text.length > LONGEST) return null;
  const match = FORM.exec(text);
  if (!match) return { tenantId: DEFAULT_TENANT, kind: null, sha256: sha256(text) };
  const [, kind, tenant] = match as unknown as [string, string, string];
  const tenantId = Number(tenant);
  if (!isTokenKind(kind) || tenantId > 2_147_483_647) return null;
  return { tenantId, kind, sha256: sha256(text) };
}
