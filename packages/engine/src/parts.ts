import type { Told } from './effects.ts';
import { BUSY, type Busy, type Run } from './operation.ts';
import type { Transition, Wake } from './transition.ts';

/**
 * A run of several statements for different items. If each commits by itself, one that fails must not undo the others:
 * those are answered as usual, and only its own items failed. If all are one transaction, or the run has no other part,
 * the run fails as a whole.
 */
export class Parts<Answer> {
  readonly answers: (Answer | Busy | undefined)[];
  readonly transitions: Transition[] = [];
  readonly wakes: Wake[] = [];
  readonly told: Told[] = [];
  readonly #failed = new Map<number, unknown>();
  readonly #commitEach: boolean;

  constructor(size: number, commitEach: boolean) {
    this.answers = new Array(size).fill(undefined);
    this.#commitEach = commitEach;
  }

  /** `places`: of its items among all. */
  async add(places: readonly number[], run: () => Promise<Run<Answer | Busy>>): Promise<void> {
    if (places.length === 0) return;
    let part: Run<Answer | Busy>;
    try {
      part = await run();
    } catch (error) {
      if (!this.#commitEach || places.length === this.answers.length) throw error;
      part = {
        answers: places.map(() => BUSY),
        transitions: [],
        wakes: [],
        failed: new Map(places.map((_, n) => [n, error])),
      };
    }
    part.answers.forEach((answer, n) => {
      this.answers[places[n] as number] = answer;
    });
    for (const [n, error] of part.failed ?? []) this.#failed.set(places[n] as number, error);
    this.transitions.push(...part.transitions);
    this.wakes.push(...part.wakes);
    this.told.push(...(part.told ?? []));
  }

  /** The answers of all items, once each has one. */
  result(): Run<Answer | Busy> {
    const { transitions, wakes, told } = this;
    const answers = this.answers as (Answer | Busy)[];
    return { answers, transitions, wakes, told, ...(this.#failed.size > 0 ? { failed: this.#failed } : {}) };
  }
}
