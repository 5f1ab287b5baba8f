/** The channel of all deliveries, and the space of their lanes. */
export const WEBHOOKS = 'webhooks';

/**
 * Lanes of one webhook: deliveries with the same key share a lane and go one after the other. A failing delivery holds
 * up only its lane.
 */
export const LANES = 64;
/** At most this many requests to one endpoint at once, from all nodes together. */
export const SLOTS = 8;

export const TIMEOUT_MS = 15_000;
/** Time a server needs beyond the endpoint's timeout before the try counts as lost. */
export const LEASE_MS = TIMEOUT_MS + 30_000;

/**
 * Pauses of 10 s, doubled up to an hour, each varied by a fifth: 40 tries always take more than a day. So a dead
 * endpoint is paused before any of its deliveries is given up.
 */
export const TRIES = 40;
export const BACKOFF_MS = 10_000;
export const LONGEST_BACKOFF_MS = 3_600_000;
/** An endpoint that has accepted nothing for this long is dead. */
export const DEAD_MS = 86_400_000;
/** For this long requests also carry a signature with the former secret. */
export const FORMER_SECRET_MS = 86_400_000;

export const MOST_WEBHOOKS = 100;
