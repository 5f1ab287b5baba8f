import type { ActionState, EventType } from './action.ts';

/** A change of one action, as reported to effects, wake-ups and metrics. */
export interface Transition {
  readonly tenantId: number;
  readonly laneId: string;
  readonly actionId: string;
  readonly channel: string;
  /** The events that were written, in order. */
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
  /** Something that the runner holds must stop: its watchers look. */
  readonly stops?: true;
  /** Unfinished actions entered the lane without being counted by an enqueue of the library. */
  readonly fills?: boolean;
  /** Nothing to claim; only followers of the feed are notified. */
  readonly news?: true;
}

/** What an item may have made claimable, as far as the item itself shows. */
export interface Touched extends Wake {
  readonly actionId?: string;
}

/** A claim that may or may not have taken something: what it took, or who asked, for what, and when. */
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
