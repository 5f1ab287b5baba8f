import { BoundedMap } from '@muster/engine';

/** What this node remembers of an action since it was handed out: saves a look-up, decides nothing. */
const MOST = 100_000;

export class Handed<Facts> {
  readonly #byAction = new BoundedMap<string, Facts>(MOST);

  remember(tenantId: number, id: string, facts: Facts): void {
    this.#byAction.set(`${tenantId}:${id}`, facts);
  }

  get(tenantId: number, id: string): Facts | undefined {
    return this.#byAction.get(`${tenantId}:${id}`);
  }

  forget(tenantId: number, id: string): void {
    this.#byAction.delete(`${tenantId}:${id}`);
  }
}
