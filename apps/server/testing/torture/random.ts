import { createHash } from 'node:crypto';

/** Decisions that a seed repeats. Each part of the test has its own generator, so that one does not affect another. */
export class Random {
  readonly #seed: string;
  #state: number;

  constructor(seed: string) {
    this.#seed = seed;
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE();
  }

  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** From 0 to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('There is nothing to pick from.');
    return list[this.int(0, list.length - 1)] as T;
  }

  /** One of the words, by weight. */
  weighted<W extends string>(weights: Readonly<Record<W, number>>): W {
    const entries = Object.entries(weights) as [W, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [word, weight] of entries) {
      left -= weight;
      if (left < 0) return word;
    }
    return (entries.at(-1) as [W, number])[0];
  }

  shuffle<T>(list: readonly T[]): T[] {
    const result = [...list];
    for (let at = result.length - 1; at > 0; at -= 1) {
      const other = this.int(0, at);
      [result[at], result[other]] = [result[other] as T, result[at] as T];
    }
    return result;
  }
}
