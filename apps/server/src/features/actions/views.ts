import type { ActionView, Engine } from '@muster/engine';

/** Look-ups of single actions, gathered per tenant like everything else that comes with every request. */
interface Wanted {
  readonly id: string;
  readonly found: (action: ActionView | null) => void;
  readonly failed: (error: unknown) => void;
}

export class Views {
  readonly #engine: Engine;
  readonly #wanted = new Map<number, Wanted[]>();
  #busy = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get(tenantId: number, id: string): Promise<ActionView | null> {
    return new Promise((found, failed) => {
      const list = this.#wanted.get(tenantId);
      if (list) list.push({ id, found, failed });
      else this.#wanted.set(tenantId, [{ id, found, failed }]);
      if (this.#busy) return;
      this.#busy = true;
      setImmediate(() => void this.#lookUp());
    });
  }

  async #lookUp(): Promise<void> {
    for (let next = this.#take(); next; next = this.#take()) {
      const [tenantId, wanted] = next;
      try {
        const found = await this.#read(tenantId, [...new Set(wanted.map(({ id }) => id))]);
        for (const one of wanted) one.found(found.get(one.id) ?? null);
      } catch (error) {
        for (const one of wanted) one.failed(error);
      }
    }
    this.#busy = false;
  }

  #take(): [number, Wanted[]] | undefined {
    const next = this.#wanted.entries().next();
    if (next.done) return undefined;
    this.#wanted.delete(next.value[0]);
    return next.value;
  }

  async #read(tenantId: number, ids: string[]): Promise<Map<string, ActionView>> {
    const { db } = this.#engine;
    // One is a prepared statement; a list is planned each time, which pays from two on.
    const actions =
      ids.length === 1
        ? [await this.#engine.get(db, tenantId, ids[0] as string)]
        : (await this.#engine.list(db, { tenantId, ids }, { limit: ids.length })).actions;
    return new Map(actions.flatMap((action) => (action ? [[action.id, action] as const] : [])));
  }
}
