import type { Role, TokenKind } from '@muster/contracts/words';

/** Who is calling, as far as the token says. */
export interface Caller {
  readonly tenantId: number;
  readonly tokenId: string;
  readonly kind: TokenKind;
  readonly role: Role | null;
  readonly name: string;
  /** What the token is limited to; only the feature that issued it knows its form. */
  readonly restriction: unknown;
}
