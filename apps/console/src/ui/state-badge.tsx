import { STATES, stateOf } from '../words/states.ts';
import { Badge } from './badge.tsx';

/** A state with its icon and word, as wide as the widest. On the pages of a door, the word may be the door's own. */
export function StateBadge({ state, word, loose }: { state: string; word?: string; loose?: boolean }) {
  const known = STATES[stateOf(state)];
  return (
    <span className={loose ? '' : 'inline-flex md:min-w-[92px]'}>
      <Badge icon={known.icon} tone={known.tone} word={word ?? known.word} />
    </span>
  );
}
