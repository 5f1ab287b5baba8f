import type { ActionView, Engine } from '@muster/engine';
import { gatherReads } from '../../database/gathered-reads.ts';

/** Look-ups of single actions, gathered like everything that comes with every request. */
interface Wanted {
  readonly tenantId: number;
  readonly id: string;
}

export class Views {
  readonly #engine: Engine;
  readonly #read: (wanted: Wanted) => Promise<ActionView | null>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#read = gatherReads(engine.db, (wanted: readonly Wanted[]) => this.#lookUp(wanted), 1);
  }

  get(tenantId: number, id: string): Promise<ActionView | null> {
    return this.#read({ tenantId, id });
  }

  async #lookUp(wanted: readonly Wanted[]): Promise<(ActionView | null)[]> {
    const ids = new Map<number, Set<string>>();
    for (const { tenantId, id } of wanted) ids.set(tenantId, (ids.get(tenantId) ?? new Set()).add(id));
    const found = new Map<string, ActionView>();
    for (const [tenantId, own] of ids)
      for (const action of await this.#ofTenant(tenantId, [...own]))
        found.set(`${tenantId}:${action.id}`, action);
    return wanted.map(({ tenantId, id }) => found.get(`${tenantId}:${id}`) ?? null);
  }

  /** One is a prepared statement; a list is planned each time, which pays from two on. */
  async #ofTenant(tenantId: number, ids: string[]): Promise<ActionView[]> {
    const { db } = this.#engine;
    if (ids.length > 1)
      return (await this.#engine.list(db, { tenantId, ids }, { limit: ids.length })).actions;
    const action = await this.#engine.get(db, tenantId, ids[0] as string);
    return action ? [action] : [];
  }
}
