import type { Limits } from '@muster/engine';

/** For statements over a whole fleet: 100,000 devices take half a second on an otherwise idle machine. */
export const WHOLE_FLEET: Limits = { statementMs: 30_000 };
