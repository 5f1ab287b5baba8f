import type { Handed } from '../../http/handed.ts';

/** Which worker got which action. */
export type HandedToWorkers = Handed<{
  /** Another worker may have a later attempt, from another node. */
  readonly attempt: number;
  /** Null: not needed yet. */
  readonly lane: string | null;
  readonly worker: string;
}>;
