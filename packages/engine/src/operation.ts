import type { Queryable } from './db.ts';
import type { Effects, Told } from './effects.ts';
import type { LostClaim, Touched, Transition, Wake } from './transition.ts';

/** What every operation needs; made once per engine. */
export interface Context {
  /** The quoted name of the schema. */
  readonly schema: string;
  /** The time to use in statements. */
  readonly now: () => Date;
  /** A promise if the time must be read first, through this client. */
  readonly ready: (client: Queryable) => Promise<void> | undefined;
  readonly depthLimit: number;
  readonly effects: Effects;
  /** Distributed by tenant: each statement is of one. */
  readonly isDistributed: boolean;
}

/** What one run of a statement returned, besides an answer per item. */
export interface Run<Answer> {
  readonly answers: Answer[];
  readonly transitions: Transition[];
  readonly wakes: Wake[];
  /** What effects returned about the actions. */
  readonly told?: readonly Told[];
  /**
   * Items whose part failed after another part was committed (`Parts`), by their places, and why. Their answer is
   * BUSY.
   */
  readonly failed?: ReadonlyMap<number, unknown>;
}

/** The lane was locked or changed meanwhile: the item is tried again in a later statement. */
export const BUSY = Symbol('busy');
export type Busy = typeof BUSY;

/** One operation over many items; gathered, or run directly in the caller's transaction. */
export interface Operation<Item, Answer> {
  readonly name: string;
  /** Items with an equal key never share a statement. */
  key(item: Item): string | null;
  /** Items with an equal key get one answer: those that wait behind another take its answer. */
  readonly isShared?: boolean;
  /** The tenant whose share of the waiting room it uses; by default its `tenantId`. */
  tenant?(item: Item): number;
  /** Its size in bytes, if it can be large. */
  bytes?(item: Item): number;
  /**
   * The line that the item stands in. In a list of one caller, an item whose key is the line itself shares no
   * statement with others of that line: it may have to wait for the lane, it sees what was put before it, and nothing
   * passes it.
   */
  line?(item: Item): string;
  /** What may have to be woken if the answer is lost. */
  touches?(item: Item): Touched;
  /** For a claim: what it takes, and for which worker or runner. */
  claims?(item: Item): LostClaim | null;
  /** How many of its statements may be in flight at this node; by default one per connection for them. */
  readonly atOnce?: number;
  /** How many gathered items a statement takes, if fewer than usual. */
  readonly most?: number;
  /** It is more than one statement, so it needs a transaction. */
  readonly isSteps?: boolean;
  /** `commitEach`: each statement is its own transaction, so its work stays if a later one fails. */
  run(client: Queryable, items: readonly Item[], commitEach?: boolean): Promise<Run<Answer | Busy>>;
}
