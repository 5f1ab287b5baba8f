import type { ActionView, Queryable } from '@muster/engine';

/** An action whose kind does not name it: a door with one kind for many things names each action. */
type Named = Pick<ActionView, 'channel' | 'kind' | 'payload'>;
type NameOf = (action: Named) => string | undefined;
/** The names of those that have one; a whole page in one read. */
type NamesOf = (
  client: Queryable,
  tenantId: number,
  of: readonly string[],
) => Promise<ReadonlyMap<string, string>>;
/** One name for all of them. */
export const allCalled =
  (name: string): NamesOf =>
  async (_client, _tenantId, of) =>
    new Map(of.map((one) => [one, name]));

type Held = Pick<ActionView, 'channel' | 'laneName' | 'space' | 'worker'>;

export interface TargetNames {
  readonly targetName?: string | undefined;
  readonly workerName?: string | undefined;
}

/** The doors' names for actions, for the targets of their lanes, and for their workers. */
export class Naming {
  readonly #actions = new Map<string, NameOf>();
  readonly #targets = new Map<string, NamesOf>();
  readonly #workers = new Map<string, NamesOf>();

  of(channel: string, nameOf: NameOf): void {
    this.#actions.set(channel, nameOf);
  }

  /** For lanes of a space, by their names in it. */
  targetsOf(space: string, namesOf: NamesOf): void {
    this.#targets.set(space, namesOf);
  }

  /** For workers that hold actions of a channel. */
  workersOf(channel: string, namesOf: NamesOf): void {
    this.#workers.set(channel, namesOf);
  }

  /** Undefined: its kind is its name. */
  nameOf(action: Named): string | undefined {
    return this.#actions.get(action.channel)?.(action);
  }

  /** For workers that hold, or held, an action of this channel. */
  async workerNamesOf(
    client: Queryable,
    tenantId: number,
    channel: string,
    workers: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const namesOf = this.#workers.get(channel);
    return workers.length === 0 || !namesOf ? new Map() : namesOf(client, tenantId, [...new Set(workers)]);
  }

  /** In the order of the actions; one read for each space and channel among them. */
  async targetNamesOf(
    client: Queryable,
    tenantId: number,
    actions: readonly Held[],
  ): Promise<readonly TargetNames[]> {
    const targets = await namesBy(
      this.#targets,
      actions.map((one) => [one.space, one.laneName]),
    );
    const workers = await namesBy(
      this.#workers,
      actions.map((one) => [one.channel, one.worker]),
    );
    return actions.map((_, place) => ({ targetName: targets[place], workerName: workers[place] }));

    async function namesBy(
      doors: ReadonlyMap<string, NamesOf>,
      sought: readonly (readonly [string | null, string | null])[],
    ): Promise<readonly (string | undefined)[]> {
      const found = new Map<string, ReadonlyMap<string, string>>();
      for (const [door, namesOf] of doors) {
        const names = sought.flatMap(([one, name]) => (one === door && name !== null ? [name] : []));
        if (names.length > 0) found.set(door, await namesOf(client, tenantId, [...new Set(names)]));
      }
      return sought.map(([door, name]) => found.get(door ?? '')?.get(name ?? ''));
    }
  }
}
