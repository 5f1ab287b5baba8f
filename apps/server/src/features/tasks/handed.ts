import type { Engine } from '@muster/engine';
import { BoundedMap } from '../../bounded-map.ts';
import { workerOf } from './wire.ts';

/** Which PC got which attempt, as far as this node remembers: saves a look into the history per report. */
const MOST = 100_000;

export interface HandedOut {
  readonly pcId: string;
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

  /**
   * own: the PC got this attempt, or an attempt of this action and this one never was; other: another PC got it;
   * unknown: the PC never got the action at all.
   */
  async whose(
    tenantId: number,
    pcId: string,
    id: string,
    attempt: number,
  ): Promise<'own' | 'other' | 'unknown'> {
    const known = this.get(tenantId, id);
    if (known?.attempt === attempt && known.pcId === pcId) return 'own';
    const sent = (await this.#engine.events(this.#engine.db, tenantId, id)).filter(
      ({ type }) => type === 'SENT',
    );
    const worker = workerOf(pcId);
    if (!sent.some((event) => event.worker === worker)) return 'unknown';
    const holder = sent.find((event) => event.attempt === attempt)?.worker ?? worker;
    return holder === worker ? 'own' : 'other';
  }
}
