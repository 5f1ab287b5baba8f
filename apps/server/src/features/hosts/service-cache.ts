import type { Database, Queryable } from '@muster/engine';
import { BoundedMap } from '../../database/bounded-map.ts';
import type { ControlQueries, Service } from './queries.ts';

/**
 * Services by id, because every hand-out names its service and should not cost a look-up. A copy in the action's payload
 * would be wrong after a change of its name; so they are looked up at hand-out, remembered, and forgotten when any node
 * changes or deletes them. If that news is lost, a minute heals it at the latest. The unit itself never changes under an id.
 */
const MOST = 100_000;
const KEPT_MS = 60_000;

export class ServiceCache {
  readonly #db: Database;
  readonly #queries: ControlQueries;
  readonly #channel: string;
  readonly #byId = new BoundedMap<string, { service: Service; until: number }>(MOST);
  /** Raised by every change: what was read before it must not be remembered after it. */
  #version = 0;

  constructor(db: Database, queries: ControlQueries, schema: string) {
    this.#db = db;
    this.#queries = queries;
    this.#channel = `${schema}_services`;
  }

  async get(tenantId: number, id: string): Promise<Service | null> {
    return (await this.getMany(tenantId, [id])).get(id) ?? null;
  }

  /** What is not in the answer does not exist. */
  async getMany(tenantId: number, ids: readonly string[]): Promise<Map<string, Service>> {
    const found = new Map<string, Service>();
    const missing: { tenantId: number; id: string }[] = [];
    for (const id of new Set(ids)) {
      const known = this.#byId.get(`${tenantId}:${id}`);
      if (known && performance.now() < known.until) found.set(id, known.service);
      else missing.push({ tenantId, id });
    }
    if (missing.length === 0) return found;
    const version = this.#version;
    for (const service of await this.#queries.getServices(this.#db, missing)) {
      found.set(service.id, service);
      if (version === this.#version)
        this.#byId.set(`${tenantId}:${service.id}`, { service, until: performance.now() + KEPT_MS });
    }
    return found;
  }

  /** In the transaction of the change, so that other nodes hear of it when it commits. */
  async changed(client: Queryable, tenantId: number, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const words = ids.map((id) => `${tenantId}:${id}`);
    await client.query({
      text: 'select pg_notify($1, w) from unnest($2::text[]) w',
      values: [this.#channel, words],
    });
  }

  /** After the commit on this node, which need not wait for the news. */
  forget(tenantId: number, ids: readonly string[]): void {
    this.#version += 1;
    for (const id of ids) this.#byId.delete(`${tenantId}:${id}`);
  }

  #forgetAll(): void {
    this.#version += 1;
    this.#byId.clear();
  }

  async start(): Promise<{ stop(): Promise<void> }> {
    const listener = await this.#db.listen(
      this.#channel,
      (word) => {
        const [tenantId, id] = word.split(':');
        if (tenantId && id) this.forget(Number(tenantId), [id]);
      },
      () => this.#forgetAll(), // news may have been missed
    );
    return { stop: () => listener.close() };
  }
}
