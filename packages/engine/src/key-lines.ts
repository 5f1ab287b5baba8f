import { Line } from './line.ts';

/**
 * Of all items with an equal key, the oldest holds it and the others queue behind it. An item without a key stands
 * alone.
 */
interface Member {
  readonly key: string | null;
}

interface Held<T> {
  holder: T;
  readonly behind: Line<T>;
}

export class KeyLines<T extends Member> {
  readonly #held = new Map<string, Held<T>>();

  /** Null: no item is before it. Otherwise how it leaves the line. */
  enter(member: T): (() => void) | null {
    if (member.key === null) return null;
    const held = this.#held.get(member.key);
    if (!held) {
      this.#held.set(member.key, { holder: member, behind: new Line() });
      return null;
    }
    const place = held.behind.push(member);
    return () => held.behind.remove(place);
  }

  holderOf(member: T): T {
    return this.#of(member)?.holder ?? member;
  }

  /** Takes out every item behind this holder. */
  *behind(member: T): Generator<T> {
    const held = this.#of(member);
    for (let next = held?.behind.shift(); next; next = held?.behind.shift()) yield next;
  }

  /** If it is the holder: the item that holds the key after it. */
  release(member: T): T | undefined {
    const held = this.#of(member);
    if (held?.holder !== member) return undefined;
    const next = held.behind.shift();
    if (next) held.holder = next;
    else this.#held.delete(member.key as string);
    return next;
  }

  #of(member: T): Held<T> | undefined {
    return member.key === null ? undefined : this.#held.get(member.key);
  }
}
