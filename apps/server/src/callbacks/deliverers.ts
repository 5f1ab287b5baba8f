import { randomUUID } from 'node:crypto';
import { warnUnlessAway } from '../http/logging.ts';
import { Deliverer, type DelivererOptions } from './deliverer.ts';
import type { CallbackLanes, CallbackLine, CallbackRunner } from './lanes.ts';

/** How soon a node notices that a tenant has its first callback on another node. */
const LOOK_MS = 5_000;

type Options = Omit<DelivererOptions, 'line' | 'moveTo' | 'ownUrl' | 'runnerId' | 'tenantId' | 'worker'> & {
  readonly lanes: CallbackLanes;
};

/** One deliverer for each runner of callbacks, from the start of the server to its stop. */
export class Deliverers {
  readonly #options: Options;
  readonly #worker = `callbacks-${randomUUID()}`;
  readonly #running = new Map<string, Deliverer>();
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

  /** The tenant has a callback in this line, perhaps its first. */
  lookSoon(tenantId: number, line: CallbackLine): void {
    if (this.#ownUrl !== undefined && !this.#running.has(keyOf({ tenantId, line }))) this.#lookAgain();
  }

  async #moveTo(line: CallbackLine, lane: { laneId: string; tenantId: number }): Promise<void> {
    await this.#options.lanes.moveTo(line, lane);
    this.lookSoon(lane.tenantId, line);
  }

  #lookAgain(): void {
    this.#looking = this.#looking
      .then(() => this.#look())
      .catch((error) =>
        this.#options.log[warnUnlessAway(error)](
          { err: error },
          'The tenants with callbacks could not be read.',
        ),
      );
  }

  async #look(): Promise<void> {
    if (this.#ownUrl === undefined) return;
    for (const runner of await this.#options.lanes.runners()) {
      const ownUrl = this.#ownUrl;
      const key = keyOf(runner);
      if (ownUrl === undefined || this.#running.has(key)) continue;
      const own = { ...runner, ownUrl, worker: this.#worker, moveTo: this.#moveTo.bind(this) };
      this.#running.set(key, new Deliverer({ ...this.#options, ...own }));
    }
  }
}

const keyOf = ({ line, tenantId }: Omit<CallbackRunner, 'runnerId'>) => `${tenantId}/${line}`;
