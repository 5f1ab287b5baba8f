import { createHash } from 'node:crypto';
import { type Engine, isTransaction, type Queryable } from '@muster/engine';

/** Where the messages of one tenant and subscription are: a fixed number of lanes of one runner. */
export interface BusLanes {
  readonly runnerId: string;
  readonly laneIds: readonly string[];
}

const SPACE = 'bus';
/** At most this many messages of a subscription are consumed at once, each with another key. */
const LANES = 64;

/** Made on first use, by the publisher in its transaction or by the consumer. */
export class LanesOfBus {
  readonly #engine: Engine;
  readonly #known = new Map<string, BusLanes>();
  readonly #beingMade = new Map<string, Promise<unknown>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async of(client: Queryable, tenantId: number, subscription: string): Promise<BusLanes> {
    const word = `${tenantId}:${subscription}`;
    const known = this.#known.get(word);
    if (known) return known;
    const lanes = await this.#ensure(client, tenantId, subscription);
    // what is rolled back never existed
    if (isTransaction(client)) client.afterCommit(() => void this.#known.set(word, lanes));
    return lanes;
  }

  /** The same in a transaction of its own, if they are not known. */
  async ofConsumer(tenantId: number, subscription: string): Promise<BusLanes> {
    const known = this.#known.get(`${tenantId}:${subscription}`);
    return known ?? this.#engine.db.transaction((tx) => this.of(tx, tenantId, subscription));
  }

  /** Makes missing lanes in a transaction of its own; concurrent callers share it. */
  prepare(tenantId: number, subscription: string): Promise<unknown> | undefined {
    const word = `${tenantId}:${subscription}`;
    if (this.#known.has(word)) return undefined;
    const begun =
      this.#beingMade.get(word) ??
      this.#engine.db
        .transaction((tx) => this.of(tx, tenantId, subscription))
        .finally(() => this.#beingMade.delete(word));
    this.#beingMade.set(word, begun);
    return begun;
  }

  /** When the oldest message that was not taken yet was published; null: none waits. */
  async waitingSince(client: Queryable, tenantId: number, subscription: string): Promise<Date | null> {
    const { laneIds } = await this.of(client, tenantId, subscription);
    const { rows } = await client.query({
      name: 'muster_bus_waiting_since',
      text: `select min(l.oldest_queued_at) as since from unnest((select $2::bigint[])) i(lane_id) cross join lateral (
          select l.oldest_queued_at from ${this.#engine.schema}.lane_loads l where l.tenant_id = $1 and l.lane_id = i.lane_id limit 1
        ) l`,
      values: [tenantId, laneIds],
    });
    return rows[0].since;
  }

  /** All tenants that have messages of it. */
  async tenantsOf(subscription: string): Promise<number[]> {
    const { rows } = await this.#engine.db.query({
      name: 'muster_bus_tenants',
      text: `select tenant_id from ${this.#engine.schema}.bus_subscriptions where subscription = $1 order by tenant_id`,
      values: [subscription],
    });
    return rows.map((row) => row.tenant_id);
  }

  async #ensure(client: Queryable, tenantId: number, subscription: string): Promise<BusLanes> {
    const engine = this.#engine;
    const names = Array.from({ length: LANES }, (_, n) => `${subscription}/${n}`);
    const laneIds = await engine.ensureLanes(client, tenantId, SPACE, names);
    const find = {
      text: `select runner_id from ${engine.schema}.bus_subscriptions where tenant_id = $1 and subscription = $2`,
      values: [tenantId, subscription],
    };
    const [known] = (await client.query(find)).rows;
    if (known) return { runnerId: known.runner_id, laneIds };
    const { rows: made } = await client.query({
      text: `insert into ${engine.schema}.bus_subscriptions (tenant_id, subscription, runner_id) values ($1, $2, $3)
        on conflict do nothing returning runner_id`,
      values: [tenantId, subscription, await engine.createRunner(client, tenantId, LANES)],
    });
    // another transaction was faster: its runner has the lanes
    if (made.length === 0) return { runnerId: (await client.query(find)).rows[0].runner_id, laneIds };
    const { runner_id: runnerId } = made[0];
    for (const laneId of laneIds) await engine.assignRunner(client, { tenantId, laneId }, runnerId);
    return { runnerId, laneIds };
  }
}

/** The lane of a key: always the same one. */
export function laneOfKey({ laneIds }: BusLanes, key: string): string {
  const hash = createHash('sha256').update(key).digest().readUInt32BE(0);
  return laneIds[hash % laneIds.length] as string;
}
