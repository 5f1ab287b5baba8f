/**
 * The doors' own words for states of an action, which their clients know; all others are those of the engine. People
 * read one word for each state: console and command line translate with this, and docs/concepts.md has the table.
 */
export const DOOR_STATES = {
  queued: 'pending',
  PENDING: 'pending',
  sent: 'claimed',
  running: 'claimed',
  PROCESSING: 'claimed',
  done: 'succeeded',
  completed: 'succeeded',
  success: 'succeeded',
  COMPLETE: 'succeeded',
} as const;
export type DoorStates = typeof DOOR_STATES;
