import { type Engine, isTransaction, type Queryable } from '@muster/engine';
import { Counter, type Registry } from 'prom-client';
import type { Log } from '../http/logging.ts';

/** A problem that needs a person. */
export interface Alert {
  readonly tenantId: number;
  /** `noun.what`, for sorting. */
  readonly name: string;
  readonly text: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

const NOTE = 'alert.raised';

/**
 * An alert is a note in the event feed, written in the transaction of its cause (so streams and webhooks get it), and
 * after the commit an error in the log and a count in the metrics. Only the note is stored.
 */
export class Alerts {
  readonly #engine: Engine;
  readonly #log: Log;
  readonly #raised: Counter<'name'>;

  constructor({ engine, log, registry }: { engine: Engine; log: Log; registry: Registry }) {
    this.#engine = engine;
    this.#log = log;
    this.#raised = new Counter({
      name: 'muster_alerts_total',
      help: 'Alerts raised, by name.',
      labelNames: ['name'],
      registers: [registry],
    });
  }

  async raise(client: Queryable, alert: Alert): Promise<void> {
    const { tenantId, name, text, data } = alert;
    await this.#engine.note(client, [{ tenantId, name: NOTE, data: { ...data, name, text } }]);
    const tell = () => {
      this.#raised.inc({ name });
      this.#log.error({ alert: name, tenantId, ...data }, text);
    };
    if (isTransaction(client)) client.afterCommit(tell);
    else tell();
  }
}
