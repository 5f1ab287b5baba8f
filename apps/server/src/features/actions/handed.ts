import type { Handed } from '../../http/handed.ts';

/** Which worker got which action. */
export type HandedToWorkers = Handed<{
  /** Null: not needed yet. */
  readonly lane: string | null;
  readonly worker: string;
}>;
