import type { BlockList } from 'node:net';
import type { Role, TokenKind } from '@muster/contracts/words';
import type { MusterError } from '../errors.ts';
import type { FormerToken } from '../tokens/tokens.ts';

/** The protocol's own sentences instead of the usual ones. A token of a wrong kind is refused like an unknown one. */
export interface Refusals {
  cookies(): MusterError;
  /** The header `Authorization: Bearer …` is missing. */
  header(): MusterError;
  token(): MusterError;
}

/** Who may use a route. There is no default: a route without an access rule cannot be registered. */
export type Access =
  | { readonly public: true }
  | {
      readonly public: false;
      /** Operators of this role or a higher one; null: none. */
      readonly role: Role | null;
      /** Other kinds of tokens. */
      readonly kinds: readonly TokenKind[];
      /** Addresses that need no token. */
      readonly addresses?: BlockList;
      /** Only the default tenant: the route shows or changes the whole installation. */
      readonly wholeInstallation?: boolean;
      /** For clients that are not browsers: a cookie means that a web page is misusing a user's browser. */
      readonly refuseCookies?: boolean;
      /** Cookies are ignored: the caller must have the token itself. */
      readonly tokenOnly?: boolean;
      /** The token may also come as the password of `Authorization: Basic`, with any user name. */
      readonly basic?: boolean;
      /** The refusal of a token that was once valid; null: the usual one. */
      readonly former?: (token: FormerToken) => Promise<MusterError | null>;
      /** Refusals in the words of the route's own protocol. */
      readonly refusals?: Refusals;
    };

export const anybody: Access = { public: true };

/** Operators of this role or a higher one, and other kinds of tokens if given. */
export function operators(role: Role, ...kinds: Exclude<TokenKind, 'operator'>[]): Access {
  return { public: false, role, kinds };
}

/** The same, but only with a token: being signed in is not enough. */
export function operatorsWithToken(role: Role): Access {
  return { public: false, role, kinds: [], tokenOnly: true };
}

/** Operators of the default tenant, for what belongs to the whole installation. */
export function wholeInstallation(role: Role): Access {
  return { public: false, role, kinds: [], wholeInstallation: true };
}

/** Only these kinds of tokens, without cookies. */
export function only(...kinds: Exclude<TokenKind, 'operator'>[]): Extract<Access, { public: false }> {
  return { public: false, role: null, kinds, refuseCookies: true };
}

/**
 * Operators of this role or a higher one, with Basic authentication, as programs written for another server send it;
 * without cookies.
 */
export function operatorsByBasic(role: Role): Access {
  return { public: false, role, kinds: [], basic: true, refuseCookies: true };
}
