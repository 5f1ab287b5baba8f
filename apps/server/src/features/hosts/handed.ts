import type { Engine } from '@muster/engine';
import { Handed } from '../../http/handed.ts';
import { CHANNEL, payloadOf } from './wire.ts';

interface HandedOut {
  readonly hostId: string;
  readonly attempt: number;
  readonly at: Date;
}

/** Which host has which action, and since when. */
export class HandedToHosts extends Handed<HandedOut> {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    super();
    this.#engine = engine;
  }

  /** Whether the action belongs to the host, running or not. */
  async isOf(tenantId: number, hostId: string, id: string): Promise<boolean> {
    const known = this.get(tenantId, id);
    if (known) return known.hostId === hostId;
    const action = await this.#engine.get(this.#engine.db, tenantId, id);
    return action?.channel === CHANNEL && payloadOf(action).hostId === hostId;
  }
}
