import { BoundedMap } from '@muster/engine';

/** What is known of an action since it was handed out, as far as this node remembers: saves a look-up, and decides nothing. */
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
