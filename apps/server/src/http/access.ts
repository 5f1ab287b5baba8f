import type { BlockList } from 'node:net';
import type { Role, TokenKind } from '@muster/contracts/words';
import type { MusterError } from '../errors.ts';
import type { FormerToken } from '../tokens/tokens.ts';

/** What is said instead of the usual sentences; a token of a wrong kind is refused like an unknown one. */
export interface Refusals {
  cookies(): MusterError;
  /** There is no `Authorization: Bearer …`. */
  header(): MusterError;
  token(): MusterError;
}

/** Who may use a route. There is no default: a route without such a rule cannot be registered. */
export type Access =
  | { readonly public: true }
  | {
      readonly public: false;
      /** Operators of this role or a higher one; null: none. */
      readonly role: Role | null;
      /** Other kinds of tokens. */
      readonly kinds: readonly TokenKind[];
      /** Addresses that need no token at all. */
      readonly addresses?: BlockList;
      /** The default tenant only: what is shown or changed belongs to the whole installation. */
      readonly wholeInstallation?: boolean;
      /** Clients that are no browsers: a cookie is a sign that somebody is being used. */
      readonly refuseCookies?: boolean;
      /** A cookie is not looked at: whoever asks must have the token itself. */
      readonly tokenOnly?: boolean;
      /** The token may also come as the password of `Authorization: Basic`, whatever the name beside it. */
      readonly basic?: boolean;
      /** What is said to somebody whose token was valid once; null: what is said of any other. */
      readonly former?: (token: FormerToken) => Promise<MusterError | null>;
      /** A protocol of its own has its own words for a refusal. */
      readonly refusals?: Refusals;
    };

export const anybody: Access = { public: true };

/** Operators from this role up, and perhaps other kinds of tokens. */
export function operators(role: Role, ...kinds: Exclude<TokenKind, 'operator'>[]): Access {
  return { public: false, role, kinds };
}

/** The same, with their token in hand: being signed in is not enough. */
export function operatorsWithToken(role: Role): Access {
  return { public: false, role, kinds: [], tokenOnly: true };
}

/** Operators of the default tenant: what is shown or changed belongs to the whole installation. */
export function wholeInstallation(role: Role): Access {
  return { public: false, role, kinds: [], wholeInstallation: true };
}

/** Only these kinds of tokens, without cookies. */
export function only(...kinds: Exclude<TokenKind, 'operator'>[]): Extract<Access, { public: false }> {
  return { public: false, role: null, kinds, refuseCookies: true };
}

/** Operators from this role up, as programs made for another server send their password: with Basic, and without cookies. */
export function operatorsByBasic(role: Role): Access {
  return { public: false, role, kinds: [], basic: true, refuseCookies: true };
}
