import type { Queryable } from './db.ts';
import type { Transition } from './transition.ts';

/**
 * A door's follow-up to transitions of its channel: called once per statement with all of them, in the same transaction,
 * from housekeeping too. If it throws, the transition does not happen; it is called again for the others without the bad
 * one, so it must do nothing that a rollback does not undo.
 */
export type Effect = (client: Queryable, transitions: readonly Transition[]) => Promise<void>;

export class Effects {
  readonly #byChannel = new Map<string, Effect>();

  register(channel: string, effect: Effect): void {
    if (this.#byChannel.has(channel)) throw new Error(`The channel ${channel} has an effect already.`);
    this.#byChannel.set(channel, effect);
  }

  get any(): boolean {
    return this.#byChannel.size > 0;
  }

  /** Whether a change of an action in one of these channels has a follow-up; null: in any of them. */
  concern(channels: readonly string[] | null): boolean {
    return channels === null ? this.any : channels.some((channel) => this.#byChannel.has(channel));
  }

  async apply(client: Queryable, transitions: readonly Transition[]): Promise<void> {
    for (const [channel, effect] of this.#byChannel) {
      const own = transitions.filter((transition) => transition.channel === channel);
      if (own.length === 0) continue;
      try {
        await effect(client, own);
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        thrownByEffects.add(error);
        throw error;
      }
    }
  }
}

const thrownByEffects = new WeakSet<Error>();

/** One item's fault: the others of its batch are tried again without it. */
export function isEffectError(error: unknown): error is Error {
  return error instanceof Error && thrownByEffects.has(error);
}
