import type { Queryable } from '@muster/engine';
import type { StreamEvent } from './stream-event.ts';

/** An event of an action in the words of its door. */
export interface DoorEvent {
  /** `noun.participle`: `order.completed`. */
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** For events of one channel and one tenant, in order; null: the door has no word for it. */
export type DoorWords = (
  client: Queryable,
  tenantId: number,
  events: readonly StreamEvent[],
) => Promise<readonly (DoorEvent | null)[]>;

/**
 * Translates events of actions into the words of their doors, on demand: nothing is written that the feed already has,
 * and consumers need not know the doors.
 */
export class DoorEvents {
  readonly #of = new Map<string, DoorWords>();

  of(channel: string, words: DoorWords): void {
    if (this.#of.has(channel)) throw new Error(`The channel ${channel} already has event names.`);
    this.#of.set(channel, words);
  }

  /** In the order of the events. */
  async say(client: Queryable, events: readonly StreamEvent[]): Promise<(DoorEvent | null)[]> {
    const said: (DoorEvent | null)[] = events.map(() => null);
    const groups = new Map<string, { words: DoorWords; tenantId: number; at: number[] }>();
    events.forEach(({ channel, tenantId }, n) => {
      const words = channel === null ? undefined : this.#of.get(channel);
      if (!words) return;
      const key = `${tenantId}:${channel}`;
      const group = groups.get(key) ?? { words, tenantId, at: [] };
      group.at.push(n);
      groups.set(key, group);
    });
    for (const { words, tenantId, at } of groups.values()) {
      const answers = await words(
        client,
        tenantId,
        at.map((n) => events[n] as StreamEvent),
      );
      for (const [k, n] of at.entries()) said[n] = answers[k] ?? null;
    }
    return said;
  }
}
