import type { Engine } from '@muster/engine';
import { BoundedMap } from '../../bounded-map.ts';

/** Generic lanes by name. A lane never changes its number, so it is remembered; other spaces belong to other features. */
export const GENERIC = 'generic';
const MOST_LANES = 100_000;

export class Lanes {
  readonly #engine: Engine;
  readonly #ids = new BoundedMap<string, string>(MOST_LANES);

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Made on first use. */
  async ensure(tenantId: number, name: string): Promise<string> {
    const key = `${tenantId}:${name}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = await this.#engine.ensureLane(this.#engine.db, tenantId, GENERIC, name);
    this.#ids.set(key, id);
    return id;
  }

  async find(tenantId: number, name: string, space = GENERIC): Promise<string | null> {
    const key = `${tenantId}:${name}`;
    const known = space === GENERIC ? this.#ids.get(key) : undefined;
    if (known !== undefined) return known;
    const id = await this.#engine.findLane(this.#engine.db, tenantId, space, name);
    if (id !== null && space === GENERIC) this.#ids.set(key, id);
    return id;
  }
}
