import type { Action } from '@muster/contracts';
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

/** The doors' own words for the same states; an unknown word is shown unchanged. */
const SAME: Readonly<Record<string, State>> = {
  queued: 'pending',
  waiting: 'pending',
  sending: 'claimed',
  delivered: 'succeeded',
  PENDING: 'pending',
  sent: 'claimed',
  running: 'claimed',
  PROCESSING: 'claimed',
  done: 'succeeded',
  completed: 'succeeded',
  success: 'succeeded',
  COMPLETE: 'succeeded',
  refused: 'failed',
  aborted: 'failed',
  stopped: 'cancelled',
  forgotten: 'cancelled',
};

export function stateOf(word: string): State {
  return word in STATES ? (word as State) : (SAME[word] ?? 'pending');
}
