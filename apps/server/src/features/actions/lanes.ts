import { BoundedMap, type Engine, EngineError } from '@muster/engine';

/**
 * Generic lanes by name; other spaces belong to other features. Lane ids are cached. The engine deletes an empty lane
 * that is not used for a while: an id that turns out to be unknown is looked up again, unnoticed by callers.
 */
export const GENERIC = 'generic';
const MOST_LANES = 100_000;
const MOST_TRIES = 3;

export class Lanes {
  readonly #engine: Engine;
  readonly #ids = new BoundedMap<string, string>(MOST_LANES);

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs with the lane of that name, which is created on first use. */
  async with<T>(tenantId: number, name: string, run: (laneId: string) => Promise<T>): Promise<T> {
    for (let nth = 1; ; nth += 1) {
      try {
        return await run(await this.#ensure(tenantId, name));
      } catch (error) {
        if (!(error instanceof EngineError && error.code === 'MUSTER_UNKNOWN_LANE') || nth >= MOST_TRIES)
          throw error;
        this.#ids.delete(`${tenantId}:${name}`);
      }
    }
  }

  async #ensure(tenantId: number, name: string): Promise<string> {
    const key = `${tenantId}:${name}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = await this.#engine.ensureLane(this.#engine.db, tenantId, GENERIC, name);
    this.#ids.set(key, id);
    return id;
  }

  /** Never creates the lane and never uses the cache: another node may have created it anew. */
  find(tenantId: number, name: string, space = GENERIC): Promise<string | null> {
    return this.#engine.findLane(this.#engine.db, tenantId, space, name);
  }
}
