import { createHash, randomInt } from 'node:crypto';
import {
  BoundedMap,
  type Duty,
  dutyRun,
  type Engine,
  isTransaction,
  type Queryable,
  whileLocked,
} from '@muster/engine';
import { CALLBACKS } from './message.ts';

/** Requests to one host at once: a slow host holds up no other, and is not overrun. */
export const LANES_PER_HOST = 4;
/**
 * Keeps this server from overrunning itself: two hundred bots end an order each second. They have places of their own,
 * whatever else hangs.
 */
const LANES_OF_OWN = 16;
const LONGEST_NAME = 180;
const NOTED_MS = 3_600_000;
const UNUSED_MS = 2 * 86_400_000;
const MOST = 200;
const MOST_KNOWN = 10_000;

/**
 * Lanes whose last request was answered quickly, or that had none yet; lanes where it was slow; and lanes of calls to
 * this server itself.
 */
export type CallbackLine = 'quick' | 'slow' | 'own';

export interface CallbackRunner {
  readonly tenantId: number;
  readonly line: CallbackLine;
  readonly runnerId: string;
}

/**
 * The lanes of a tenant's callbacks: a few for each host, under one runner while it answers quickly and under another
 * while it does not; those of calls to this server are under a third. The use of a lane is noted once an hour, so a
 * fresh note means that the lane has its runner. A lane unused for two days loses its runner, and the engine deletes
 * it.
 */
export class CallbackLanes {
  readonly #engine: Engine;
  readonly #runners = new Map<string, string>();
  readonly #moving = new Map<string, { laneIds: Set<string>; done: Promise<void> }>();
  readonly #ownLanes = new BoundedMap<string, { laneId: string; until: number }>(MOST_KNOWN);

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The lanes of this host in the order to try, starting with another one each time. */
  async *lanesOf(tx: Queryable, tenantId: number, host: string): AsyncGenerator<string> {
    const name = host.length > LONGEST_NAME ? createHash('sha256').update(host).digest('hex') : host;
    const first = randomInt(LANES_PER_HOST);
    for (let n = 0; n < LANES_PER_HOST; n += 1)
      yield await this.#noted(tx, tenantId, `${name}/${(first + n) % LANES_PER_HOST}`, 'quick');
  }

  /** Moves the lane to this line. Hosts that hang start to at the same time, so concurrent moves share a statement. */
  moveTo(line: CallbackLine, { laneId, tenantId }: { laneId: string; tenantId: number }): Promise<void> {
    const key = `${tenantId}/${line}`;
    const moving = this.#moving.get(key) ?? {
      laneIds: new Set<string>(),
      done: this.#moveSoon(line, tenantId),
    };
    this.#moving.set(key, moving);
    moving.laneIds.add(laneId);
    return moving.done;
  }

  async #moveSoon(line: CallbackLine, tenantId: number): Promise<void> {
    await new Promise(setImmediate);
    const key = `${tenantId}/${line}`;
    const laneIds = [...(this.#moving.get(key)?.laneIds ?? [])];
    this.#moving.delete(key);
    await whileLocked(this.#engine.db, async (tx) => {
      const runnerId = await this.#runnerOf(tx, tenantId, line);
      await this.#engine.assignRunners(
        tx,
        tenantId,
        laneIds.map((laneId) => ({ laneId, runnerId })),
      );
    });
  }

  async #noted(tx: Queryable, tenantId: number, name: string, line: CallbackLine): Promise<string> {
    const { schema: s, now } = this.#engine;
    const laneId = await this.#engine.ensureLane(tx, tenantId, CALLBACKS, name);
    const { rows: noted } = await tx.query({
      name: 'muster_callback_lane',
      text: `select 1 from ${s}.callback_lanes where tenant_id = $1 and name = $2 and used_at > $3::timestamptz`,
      values: [tenantId, name, new Date(now().getTime() - NOTED_MS)],
    });
    if (noted.length > 0) return laneId;
    const runnerId = await this.#runnerOf(tx, tenantId, line);
    const { rows: isNew } = await tx.query({
      text: `with n as (
          insert into ${s}.callback_lanes as l (tenant_id, name, used_at) values ($1, $2, $3)
          on conflict (tenant_id, name) do update set used_at = excluded.used_at where l.used_at < excluded.used_at
          returning xmax = 0 as is_new
        ) select 1 from n where n.is_new`,
      values: [tenantId, name, now()],
    });
    // a lane noted before already has its runner, perhaps the slow one
    if (isNew.length > 0) await this.#engine.assignRunner(tx, { tenantId, laneId }, runnerId);
    return laneId;
  }

  /** The lane of a call to this server itself: always the same one for an id, and mostly without a query. */
  async ownLane(client: Queryable, tenantId: number, id: string): Promise<string> {
    const nth = createHash('sha256').update(id).digest().readUInt32BE() % LANES_OF_OWN;
    const name = `this server/${nth}`;
    const known = this.#ownLanes.get(`${tenantId}/${name}`);
    const at = this.#engine.now().getTime();
    if (known && at < known.until) return known.laneId;
    const laneId = isTransaction(client)
      ? await this.#noted(client, tenantId, name, 'own')
      : await this.#engine.db.transaction((tx) => this.#noted(tx, tenantId, name, 'own'));
    const know = () => void this.#ownLanes.set(`${tenantId}/${name}`, { laneId, until: at + NOTED_MS });
    if (isTransaction(client)) client.afterCommit(know);
    else know();
    return laneId;
  }

  async #runnerOf(tx: Queryable, tenantId: number, line: CallbackLine): Promise<string> {
    const key = `${tenantId}/${line}`;
    const known = this.#runners.get(key);
    if (known !== undefined) return known;
    const s = this.#engine.schema;
    const find = {
      text: `select runner_id from ${s}.callback_runners where tenant_id = $1 and line = $2`,
      values: [tenantId, line],
    };
    let [row] = (await tx.query(find)).rows;
    if (!row) {
      // each node limits by itself how many requests to others it sends at once
      const made = await this.#engine.createRunner(tx, tenantId, line === 'own' ? LANES_OF_OWN : null);
      await tx.query({
        text: `insert into ${s}.callback_runners (tenant_id, line, runner_id) values ($1, $2, $3) on conflict do nothing`,
        values: [tenantId, line, made],
      });
      // another transaction may have been faster
      [row] = (await tx.query(find)).rows;
    }
    const runnerId = row.runner_id as string;
    // what is rolled back never existed
    if (isTransaction(tx)) tx.afterCommit(() => void this.#runners.set(key, runnerId));
    return runnerId;
  }

  /** Of every tenant that has callbacks. */
  async runners(): Promise<CallbackRunner[]> {
    const { rows } = await this.#engine.db.query({
      name: 'muster_callback_runners',
      text: `select tenant_id, line, runner_id from ${this.#engine.schema}.callback_runners order by tenant_id, line`,
    });
    return rows.map((row) => ({ tenantId: row.tenant_id, line: row.line, runnerId: row.runner_id }));
  }

  /** A publisher notes a lane again before this duty would take it: one waits for the other on its row. */
  givingUp(): Duty {
    const { schema: s, now } = this.#engine;
    return {
      name: 'give-up-callback-lanes',
      everyMs: 60_000,
      runOnce: async (client) => {
        const { rows } = await client.query({
          name: 'muster_callback_lanes_unused',
          text: `select tenant_id, name from ${s}.callback_lanes where used_at < $1::timestamptz
            order by used_at limit ${MOST} for update skip locked`,
          values: [new Date(now().getTime() - UNUSED_MS)],
        });
        for (const { tenant_id: tenantId, name } of rows) {
          const laneId = await this.#engine.findLane(client, tenantId, CALLBACKS, name);
          const { rows: loads } = await client.query({
            text: `select 1 from ${s}.lane_loads where tenant_id = $1 and lane_id = $2 and (queued > 0 or leased_action is not null)`,
            values: [tenantId, laneId],
          });
          if (loads.length > 0) {
            await client.query({
              text: `update ${s}.callback_lanes set used_at = $3 where tenant_id = $1 and name = $2`,
              values: [tenantId, name, now()],
            });
            continue;
          }
          if (laneId !== null) await this.#engine.assignRunner(client, { tenantId, laneId }, null);
          await client.query({
            text: `delete from ${s}.callback_lanes where tenant_id = $1 and name = $2`,
            values: [tenantId, name],
          });
        }
        return dutyRun(rows.length, MOST);
      },
    };
  }
}
