/**
 * The kinds of tokens. Each token is of one kind and opens only the routes that name it. A feature with clients of its
 * own adds a line here; `byHand` marks kinds that admins issue, and the others are issued by their feature.
 */
export const TOKEN_KINDS = {
  operator: { byHand: true, meaning: 'a person or an application, with a role' },
  agent: { byHand: false, meaning: 'the agent of one host: runs its actions and reports them' },
  device: { byHand: false, meaning: 'one device: checks in, receives its actions and reports them' },
  runner: { byHand: false, meaning: 'the runner of one PC: claims work for its devices and reports it' },
  bot: { byHand: false, meaning: 'one bot: claims orders for itself' },
  'host-enrolment': { byHand: true, meaning: 'enrols any number of hosts' },
  'device-enrolment': { byHand: true, meaning: 'enrols any number of devices' },
  'mdm-enrolment': { byHand: false, meaning: 'one phone: downloads its enrolment profile' },
  publisher: { byHand: true, meaning: 'publishes and manages callbacks and their dead letters' },
  worker: { byHand: true, meaning: 'claims and reports actions of generic lanes' },
} as const satisfies Record<string, { byHand: boolean; meaning: string }>;

export type TokenKind = keyof typeof TOKEN_KINDS;

/** A fleet has one for each device: lists show those created by hand, unless a kind is given. */
export const KINDS = Object.keys(TOKEN_KINDS) as TokenKind[];
export const KINDS_BY_HAND = KINDS.filter((kind) => TOKEN_KINDS[kind].byHand);

export function isTokenKind(text: string): text is TokenKind {
  return Object.hasOwn(TOKEN_KINDS, text);
}

/** Each role may do everything that the previous one may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export function atLeast(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
