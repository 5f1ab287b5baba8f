import type { Engine } from '@muster/engine';
import { BoundedMap } from '../../bounded-map.ts';
import { CHANNEL, payloadOf } from './wire.ts';

/** Which host has which action and since when, as far as this node remembers: saves a look-up per report. */
const MOST = 100_000;

export interface HandedOut {
  readonly hostId: string;
  readonly attempt: number;
  readonly at: Date;
}

export class Handed {
  readonly #engine: Engine;
  readonly #byAction = new BoundedMap<string, HandedOut>(MOST);

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  remember(tenantId: number, id: string, to: HandedOut): void {
    this.#byAction.set(`${tenantId}:${id}`, to);
  }

  get(tenantId: number, id: string): HandedOut | undefined {
    return this.#byAction.get(`${tenantId}:${id}`);
  }

  forget(tenantId: number, id: string): void {
    this.#byAction.delete(`${tenantId}:${id}`);
  }

  /** Whether the action is one of the host's, running or not. */
  async isOf(tenantId: number, hostId: string, id: string): Promise<boolean> {
    const known = this.get(tenantId, id);
    if (known) return known.hostId === hostId;
    const action = await this.#engine.get(this.#engine.db, tenantId, id);
    return action?.channel === CHANNEL && payloadOf(action).hostId === hostId;
  }
}
