import type { ActionView } from '@muster/engine';

/** What people call an action whose kind does not say it: a door whose kind is one for many things names each. */
type Named = Pick<ActionView, 'channel' | 'kind' | 'payload'>;
type NameOf = (action: Named) => string | undefined;

export class Naming {
  readonly #doors = new Map<string, NameOf>();

  of(channel: string, nameOf: NameOf): void {
    this.#doors.set(channel, nameOf);
  }

  /** Undefined: it is called by its kind. */
  nameOf(action: Named): string | undefined {
    return this.#doors.get(action.channel)?.(action);
  }
}
