import type { Engine } from '@muster/engine';
import { Handed } from '../../http/handed.ts';
import { targetOf } from '../../http/instance.ts';
import { holderOf } from './wire.ts';

interface HandedOut {
  readonly pcId: string;
  readonly attempt: number;
  readonly at: Date;
}

/** Which PC got which attempt, and when. */
export class HandedToPcs extends Handed<HandedOut> {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    super();
    this.#engine = engine;
  }

  /**
   * own: the PC got this attempt, or it got an attempt of this action and this one does not exist; other: another PC
   * got it; unknown: the PC never got the action.
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
    const pc = holderOf(pcId);
    if (!sent.some((event) => targetOf(event.worker ?? '') === pc)) return 'unknown';
    const holder = sent.find((event) => event.attempt === attempt)?.worker ?? pc;
    return targetOf(holder) === pc ? 'own' : 'other';
  }
}
