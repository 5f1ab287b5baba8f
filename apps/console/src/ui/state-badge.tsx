import { STATES, stateOf } from '../words/states.ts';
import { Badge } from './badge.tsx';

/** A state with its icon and word, as wide as the widest. `word` is for what only looks like the state of an action. */
export function StateBadge({ state, word, loose }: { state: string; word?: string; loose?: boolean }) {
  const known = STATES[stateOf(state)];
  return (
    <span className={loose ? '' : 'inline-flex md:min-w-[92px]'}>
      <Badge icon={known.icon} tone={known.tone} word={word ?? known.word} />
    </span>
  );
}
