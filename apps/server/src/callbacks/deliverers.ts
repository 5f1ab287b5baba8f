import { randomUUID } from 'node:crypto';
import { Deliverer, type DelivererOptions } from './deliverer.ts';
import type { CallbackLanes } from './lanes.ts';

/** How soon a node finds out that a tenant has its first callback at another one. */
const LOOK_MS = 5_000;

type Options = Omit<DelivererOptions, 'ownUrl' | 'runnerId' | 'tenantId' | 'worker'> & {
  readonly lanes: CallbackLanes;
};

/** One deliverer for each tenant that has callbacks, from the start of the server to its stop. */
export class Deliverers {
  readonly #options: Options;
  readonly #worker = `callbacks-${randomUUID()}`;
  readonly #running = new Map<number, Deliverer>();
  #ownUrl: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  async start(ownUrl: string): Promise<void> {
    this.#ownUrl = ownUrl;
    await this.#look();
    this.#timer = setInterval(() => this.#lookAgain(), LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#ownUrl = undefined;
    await this.#looking;
    await Promise.all([...this.#running.values()].map((deliverer) => deliverer.stop()));
    this.#running.clear();
  }

  /** The tenant has a callback, perhaps its first. */
  lookSoon(tenantId: number): void {
    if (this.#ownUrl !== undefined && !this.#running.has(tenantId)) this.#lookAgain();
  }

  #lookAgain(): void {
    this.#looking = this.#looking
      .then(() => this.#look())
      .catch((error) =>
        this.#options.log.warn({ err: error }, 'The tenants with callbacks could not be read.'),
      );
  }

  async #look(): Promise<void> {
    if (this.#ownUrl === undefined) return;
    for (const { tenantId, runnerId } of await this.#options.lanes.tenants()) {
      const ownUrl = this.#ownUrl;
      if (ownUrl === undefined || this.#running.has(tenantId)) continue;
      const own = { ownUrl, runnerId, tenantId, worker: this.#worker };
      this.#running.set(tenantId, new Deliverer({ ...this.#options, ...own }));
    }
  }
}
