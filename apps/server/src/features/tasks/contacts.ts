import type { Engine } from '@muster/engine';
import { BoundedMap } from '../../bounded-map.ts';
import type { Log } from '../../feature.ts';

/**
 * When the runners of PCs were last heard of. Written for many of them at once, each at most every few seconds: nobody
 * waits for it, and a parked request costs nothing here. Reads on this node see it at once.
 */
const AT_MOST_EVERY_MS = 5_000;
const WRITE_AFTER_MS = 1_000;
const MOST = 100_000;
const MOST_PER_STATEMENT = 5_000;

interface Contact {
  readonly tenantId: number;
  readonly pcId: string;
}

export class Contacts {
  readonly #engine: Engine;
  readonly #log: Log;
  /** The last contact of each PC that this node knows of, and the last that it wrote down or is about to. */
  readonly #seen = new BoundedMap<string, { at: number; noted: number }>(MOST);
  #toWrite: Contact[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(engine: Engine, log: Log) {
    this.#engine = engine;
    this.#log = log;
  }

  heardOf(tenantId: number, pcId: string): void {
    const key = `${tenantId}:${pcId}`;
    const now = this.#engine.now()?.getTime() ?? Date.now();
    const noted = this.#seen.get(key)?.noted;
    const isNoted = noted !== undefined && now - noted < AT_MOST_EVERY_MS;
    this.#seen.set(key, { at: now, noted: isNoted ? noted : now });
    if (isNoted) return;
    this.#toWrite.push({ tenantId, pcId });
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref();
  }

  /** The later of what is stored and what is not yet. */
  latest(tenantId: number, pcId: string, stored: Date | null): Date | null {
    const at = this.#seen.get(`${tenantId}:${pcId}`)?.at;
    return at !== undefined && at > (stored?.getTime() ?? 0) ? new Date(at) : stored;
  }

  /** Whatever is to be written, now. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      while (this.#toWrite.length > 0) {
        const some = this.#toWrite.splice(0, MOST_PER_STATEMENT);
        try {
          await this.#insert(some);
        } catch (error) {
          for (const { tenantId, pcId } of some) this.#seen.delete(`${tenantId}:${pcId}`);
          this.#log.warn({ err: error }, 'The contacts of PCs could not be written down.');
        }
      }
    });
    return this.#writing;
  }

  /** By the database's clock, which also judges whether a task has stalled. */
  async #insert(contacts: readonly Contact[]): Promise<void> {
    const { db, now, schema: s } = this.#engine;
    await db.query({
      name: 'muster_pc_contacts',
      text: `insert into ${s}.pc_contacts as c (tenant_id, pc_id, seen_at)
        select distinct i.tenant_id, i.pc_id, coalesce($1::timestamptz, now()) from unnest($2::int[], $3::bigint[]) i(tenant_id, pc_id)
        order by 1, 2
        on conflict (tenant_id, pc_id) do update set seen_at = greatest(c.seen_at, excluded.seen_at)`,
      values: [now(), contacts.map(({ tenantId }) => tenantId), contacts.map(({ pcId }) => pcId)],
    });
  }
}
