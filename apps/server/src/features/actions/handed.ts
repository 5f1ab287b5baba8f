import { BoundedMap } from '../../bounded-map.ts';

/** Who got which action, as far as this node remembers: saves a look-up per report, and decides nothing. */
const MOST = 100_000;

export interface HandedOut {
  /** Null: nobody had to know it yet. */
  readonly lane: string | null;
  readonly worker: string;
}

export class Handed {
  readonly #byAction = new BoundedMap<string, HandedOut>(MOST);

  get(tenantId: number, id: string): HandedOut | undefined {
    return this.#byAction.get(`${tenantId}:${id}`);
  }

  remember(tenantId: number, id: string, to: HandedOut): void {
    this.#byAction.set(`${tenantId}:${id}`, to);
  }

  forget(tenantId: number, id: string): void {
    this.#byAction.delete(`${tenantId}:${id}`);
  }
}
