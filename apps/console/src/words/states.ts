import type { Action, DoorStates } from '@muster/contracts';
import {
  Circle,
  CircleCheck,
  CircleDot,
  CircleSlash,
  CircleX,
  Hourglass,
  type LucideIcon,
} from 'lucide-react';
import type { Tone } from '../ui/tones.ts';

export type State = Action['state'];

/** Each state: its word, its icon, its one colour. */
export const STATES: Readonly<Record<State, { word: string; icon: LucideIcon; tone: Tone }>> = {
  pending: { word: 'pending', icon: Circle, tone: 'slate' },
  claimed: { word: 'running', icon: CircleDot, tone: 'blue' },
  succeeded: { word: 'succeeded', icon: CircleCheck, tone: 'green' },
  failed: { word: 'failed', icon: CircleX, tone: 'red' },
  cancelled: { word: 'cancelled', icon: CircleSlash, tone: 'slate' },
  expired: { word: 'expired', icon: Hourglass, tone: 'plum' },
};

/** The doors' words for the same states. The console takes only types, so this is their table once more, compared by the compiler. */
const OF_DOORS: DoorStates = {
  queued: 'pending',
  PENDING: 'pending',
  sent: 'claimed',
  running: 'claimed',
  PROCESSING: 'claimed',
  done: 'succeeded',
  completed: 'succeeded',
  success: 'succeeded',
  COMPLETE: 'succeeded',
};

/** What has a word of its own but looks like one of these states: deliveries, and devices of a batch without an action. */
const ALIKE: Readonly<Record<string, State>> = {
  ...OF_DOORS,
  waiting: 'pending',
  sending: 'claimed',
  delivered: 'succeeded',
  refused: 'failed',
  aborted: 'failed',
  stopped: 'cancelled',
  forgotten: 'cancelled',
};

export function stateOf(word: string): State {
  return word in STATES ? (word as State) : (ALIKE[word] ?? 'pending');
}

/** The word that people read, whatever a door calls the state; what is no state of an action keeps its own. */
export function wordOf(said: string): string {
  const state = said in OF_DOORS ? OF_DOORS[said as keyof DoorStates] : said;
  return STATES[state as State]?.word ?? said;
}
