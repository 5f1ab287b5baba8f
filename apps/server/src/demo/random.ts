/**
 * Random numbers, the same for the same seed. One source per part of the fleet, so parts do not influence each other.
 */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  between(from: number, to: number): number;
  /** True in this percentage of cases. */
  percent(percent: number): boolean;
  pick<T>(list: readonly T[]): T;
}

export function randomOf(seed: string): Random {
  let state = hash(seed);
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (from, to) => from + next() * (to - from),
    percent: (percent) => next() * 100 < percent,
    pick: (list) => list[Math.floor(next() * list.length)] as (typeof list)[number],
  };
}

/** FNV-1a */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (const letter of text) sum = Math.imul(sum ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return sum >>> 0;
}
