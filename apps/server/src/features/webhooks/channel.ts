/** The channel of all deliveries, and the space of their lanes. */
export const WEBHOOKS = 'webhooks';

/** Of one webhook: what is of one key is in one lane, one after the other. What fails holds up its lane alone. */
export const LANES = 64;
/** So many requests go to one endpoint at once, by all nodes together. */
export const SLOTS = 8;

export const TIMEOUT_MS = 15_000;
/** What a server needs beside the time of the endpoint, before the try counts as lost. */
export const LEASE_MS = TIMEOUT_MS + 30_000;

/**
 * Pauses of 10 s, doubled up to an hour and a fifth shorter or longer: 40 tries take more than a day in any case. So an endpoint that takes nothing
 * at all is paused before anything of it is given up.
 */
export const TRIES = 40;
export const BACKOFF_MS = 10_000;
export const LONGEST_BACKOFF_MS = 3_600_000;
/** Nothing was taken for so long: the endpoint is dead. */
export const DEAD_MS = 86_400_000;
/** So long requests carry a signature of the former secret too. */
export const FORMER_SECRET_MS = 86_400_000;

export const MOST_WEBHOOKS = 100;
