import { AggregatorRegistry, type Registry } from 'prom-client';
import type { FromMember, Listening, Metrics, ToMember } from './messages.ts';

/** The channel to the parent process. */
export interface Parent {
  on(event: 'message', heard: (message: ToMember) => void): unknown;
  send?(message: FromMember): boolean;
}

/**
 * One of several server processes behind one port; its metrics are those of all. Node ends it if the parent is gone.
 */
export class Member {
  readonly #asked = new Map<number, (metrics: readonly Metrics[]) => void>();
  readonly #parent: Parent;
  #registry: Registry | undefined;
  #ids = 0;

  constructor(parent: Parent) {
    this.#parent = parent;
    parent.on('message', (message) => void this.#hear(message));
  }

  isListening({ operatorToken, url }: Omit<Listening, 'muster'>): void {
    this.#send({ muster: 'listening', operatorToken, url });
  }

  /** The text of all processes together, whichever of them answers. */
  metricsOf(registry: Registry): () => Promise<string> {
    this.#registry = registry;
    return async () => {
      const metrics = await registry.getMetricsAsJSON();
      this.#ids += 1;
      const id = this.#ids;
      // its own counters come back among them, so none is shown that would be lost if it ends
      const all = await new Promise<readonly Metrics[]>((resolve) => {
        this.#asked.set(id, resolve);
        this.#send({ muster: 'ask', id, metrics });
      });
      return AggregatorRegistry.aggregate([...all]).metrics();
    };
  }

  async #hear(message: ToMember): Promise<void> {
    if (message.muster === 'metrics of all') {
      this.#asked.get(message.id)?.(message.metrics);
      this.#asked.delete(message.id);
    } else if (message.muster === 'alive?') {
      this.#send({ muster: 'alive' });
    } else {
      const metrics = (await this.#registry?.getMetricsAsJSON()) ?? [];
      this.#send({ muster: 'metrics', id: message.id, metrics });
    }
  }

  #send(message: FromMember): void {
    this.#parent.send?.(message);
  }
}
