import type { Role, TokenKind } from '@muster/contracts/words';

/** The caller, as the token identifies it. */
export interface Caller {
  readonly tenantId: number;
  readonly tokenId: string;
  readonly kind: TokenKind;
  readonly role: Role | null;
  readonly name: string;
  /** The token's restriction; only the feature that issued it knows its form. */
  readonly restriction: unknown;
}
