import type { ActionState, EventType } from './action.ts';

/** A change of one action, as told to effects, wake-ups and metrics. */
export interface Transition {
  readonly tenantId: number;
  readonly laneId: string;
  readonly actionId: string;
  readonly channel: string;
  /** The events that were written, in their order. */
  readonly events: readonly EventType[];
  /** The state before them; null: there was no such action. */
  readonly before: ActionState | null;
  /** The state after them. */
  readonly state: string;
  readonly attempt: number;
  readonly reason: string | null;
  readonly at: Date;
}

/** Something that may now be claimable. */
export interface Wake {
  readonly tenantId: number;
  readonly laneId?: string;
  readonly runnerId?: string | null;
  /** Something that the runner holds is to be stopped: whoever watches it looks. */
  readonly stops?: true;
  /** Unfinished actions have come into the lane that no enqueue of the library has counted. */
  readonly fills?: boolean;
  /** Nothing to claim: only those who follow the feed are told. */
  readonly news?: true;
}

/** What an item may have made claimable, as far as it says so itself. */
export interface Touched extends Wake {
  readonly actionId?: string;
}

/** A claim of which nobody knows whether it took something: what it took, or who asked, for what, and when. */
export interface LostClaim {
  readonly tenantId: number;
  readonly laneId?: string | undefined;
  /** The action whose lane it is; with `attempt` the one that was taken. */
  readonly actionId?: string | undefined;
  readonly runnerId?: string | undefined;
  readonly attempt?: number;
  readonly worker?: string;
  readonly from?: Date;
  readonly to?: Date;
}
