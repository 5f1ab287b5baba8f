import type { Queryable } from './db.ts';
import type { Effects, Told } from './effects.ts';
import type { LostClaim, Touched, Transition, Wake } from './transition.ts';

/** What every operation needs to know; made once per engine. */
export interface Context {
  /** The quoted name of the schema. */
  readonly schema: string;
  /** The time to use in statements. */
  readonly now: () => Date;
  /** A promise if the time must be asked for first, by this client. */
  readonly ready: (client: Queryable) => Promise<void> | undefined;
  readonly depthLimit: number;
  readonly effects: Effects;
  /** The database is distributed by tenant: a statement is of one. */
  readonly isDistributed: boolean;
}

/** What one run of a statement brought, besides an answer per item. */
export interface Run<Answer> {
  readonly answers: Answer[];
  readonly transitions: Transition[];
  readonly wakes: Wake[];
  /** What effects told of the actions. */
  readonly told?: readonly Told[];
  /** By their places: items whose part failed after another one was committed (`Parts`), and why. Their answer is BUSY. */
  readonly failed?: ReadonlyMap<number, unknown>;
}

/** The lane was locked or changed meanwhile: the item is tried again in a later statement. */
export const BUSY = Symbol('busy');
export type Busy = typeof BUSY;

/** One operation over many items; gathered or run directly in the caller's transaction. */
export interface Operation<Item, Answer> {
  readonly name: string;
  /** Items with an equal key never share a statement. */
  key(item: Item): string | null;
  /** Items with an equal key get one answer: whoever waits behind another takes his. */
  readonly isShared?: boolean;
  /** Whose share of what may wait it uses; by default its `tenantId`. */
  tenant?(item: Item): number;
  /** How large it is, if it can be large. */
  bytes?(item: Item): number;
  /**
   * The line that the item stands in. Of one caller's list, an item whose key is the line itself shares no statement with
   * others of that line: it may have to wait for the lane, it sees what was put before it, and nothing passes it.
   */
  line?(item: Item): string;
  /** Who may have to be woken if the answer is lost. */
  touches?(item: Item): Touched;
  /** Where it takes something for whom, if it does. */
  claims?(item: Item): LostClaim | null;
  /** How many of its statements may be in flight at this node; by default as many as there are connections for them. */
  readonly atOnce?: number;
  /** It is more than one statement, so it needs a transaction. */
  readonly isSteps?: boolean;
  /** `commitEach`: each statement is a transaction of its own, so what it has done stays if a later one fails. */
  run(client: Queryable, items: readonly Item[], commitEach?: boolean): Promise<Run<Answer | Busy>>;
}
