import type { Queryable } from '@muster/engine';
import type { Log } from '../../http/logging.ts';
import { warnUnlessAway } from '../../http/logging.ts';
import type { LaneSender } from '../../outgoing/lane-sender.ts';
import type { PlaceQueries } from './place-queries.ts';
import type { WebhookQueries, WebhookRow } from './queries.ts';

/** How soon a node notices a change made on another. */
const LOOK_MS = 5_000;

interface Options {
  readonly db: Queryable;
  readonly log: Log;
  readonly places: PlaceQueries;
  readonly queries: WebhookQueries;
  begin(webhook: WebhookRow): LaneSender;
}

/** One sender per active webhook, on every node. */
export class Senders {
  readonly #options: Options;
  readonly #running = new Map<string, LaneSender>();
  /** Of webhooks that were paused or deleted. */
  readonly #ending = new Set<LaneSender>();
  #version: string | null = null;
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#isStarted = true;
    await this.#look();
    this.#timer = setInterval(() => this.lookSoon(), LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStarted = false;
    await this.#looking;
    await Promise.all([...this.#running.values(), ...this.#ending].map((sender) => sender.stop()));
    this.#running.clear();
  }

  /** Something may have changed, here or elsewhere. */
  lookSoon(): void {
    this.#looking = this.#looking
      .then(() => this.#look())
      .catch((error) =>
        this.#options.log[warnUnlessAway(error)](
          { err: error },
          'The webhooks could not be read; trying again.',
        ),
      );
  }

  async #look(): Promise<void> {
    if (!this.#isStarted) return;
    const { begin, db, places, queries } = this.#options;
    const version = await places.version(db);
    if (version === this.#version) return;
    const active = new Map(
      (await queries.active(db)).map((row) => [`${row.tenantId}:${row.webhookId}`, row]),
    );
    // a change between the two reads has a later version, and leads to another look
    this.#version = version;
    for (const [key, webhook] of active)
      if (this.#isStarted && !this.#running.has(key)) this.#running.set(key, begin(webhook));
    for (const [key, sender] of this.#running)
      if (!active.has(key)) {
        this.#running.delete(key);
        this.#ending.add(sender);
        void sender.finish().finally(() => this.#ending.delete(sender));
      }
  }
}
