import type { Observer } from '@muster/engine';

/** What both are told of; the other is told of nothing else. */
export function joinObservers(
  one: Observer,
  other: Pick<Observer, 'transitions' | 'woken'> | undefined,
): Observer {
  if (!other) return one;
  return {
    ...one,
    ...other,
    transitions(transitions, by) {
      one.transitions?.(transitions, by);
      other.transitions?.(transitions, by);
    },
  };
}
