/** Random numbers that repeat for the same seed. */
export interface Die {
  /** A whole number from 0 to below `n`. */
  below(n: number): number;
  of<T>(list: readonly T[]): T;
}

export function createDie(seed: number): Die {
  let state = seed >>> 0;
  const below = (n: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
  return { below, of: (list) => list[below(list.length)] as never };
}

/** Printed with every failure; set it to play the same again. */
export const SEED = Number(process.env.MUSTER_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
