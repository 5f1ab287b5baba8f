import type { Handed } from '../../http/handed.ts';

/** Who got which action. */
export type HandedToWorkers = Handed<{
  /** Null: nobody had to know it yet. */
  readonly lane: string | null;
  readonly worker: string;
}>;
