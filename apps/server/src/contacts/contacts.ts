import type { Database, Queryable } from '@muster/engine';
import { BoundedMap } from '../database/bounded-map.ts';
import type { Log } from '../http/logging.ts';

/**
 * When hosts, devices or PCs were last heard of, each over its channel. A contact is written down at most every so often,
 * with all others that came meanwhile, in one statement: a hundred thousand of them do not cost a hundred thousand updates,
 * nobody waits for it, and it is the only thing that a crash may lose. Reads on this node see it at once.
 */
interface Contact {
  readonly tenantId: number;
  readonly channel: string;
  readonly id: string;
  readonly at: Date;
}

interface Options {
  readonly db: Database;
  readonly log: Log;
  readonly now: () => Date;
  /** Whoever was heard of within so many seconds is there. */
  readonly onlineSeconds: number;
  readonly schema: string;
}

/** One channel's targets, known by their ids. */
export interface ChannelContacts {
  heardOf(tenantId: number, id: string): void;
  /** The later of what is stored and what this node knows. */
  latest(tenantId: number, id: string, stored: Date | null): Date | null;
  isOnline(seenAt: Date | null): boolean;
  /** For a condition in SQL: whoever was seen later than that is there. */
  onlineSince(): Date;
  /** The column: what is stored of the target that these expressions name. */
  seenAt(tenant: string, id: string): string;
  /** In the transaction in which the target is deleted. */
  forget(client: Queryable, tenantId: number, id: string): Promise<void>;
}

const WRITE_AFTER_MS = 1_000;
const MOST_KNOWN = 100_000;
const MOST_PER_STATEMENT = 5_000;

export class Contacts {
  readonly #options: Options;
  #unwritten = new Map<string, Contact>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  /** `everyMs`: how far what is stored may lag behind. */
  of(channel: string, everyMs: number): ChannelContacts {
    const { now, onlineSeconds, schema: s } = this.#options;
    /** The last contact of each, and the last that was written down or is about to be. */
    const seen = new BoundedMap<string, { at: number; noted: number }>(MOST_KNOWN);
    const onlineSince = () => new Date(now().getTime() - onlineSeconds * 1_000);
    return {
      heardOf: (tenantId, id) => {
        const key = `${tenantId}:${id}`;
        const at = now().getTime();
        const noted = seen.get(key)?.noted;
        const isNoted = noted !== undefined && at - noted < everyMs;
        seen.set(key, { at, noted: isNoted ? noted : at });
        if (isNoted) return;
        this.#unwritten.set(`${channel}:${key}`, { tenantId, channel, id, at: new Date(at) });
        this.#later();
      },
      latest(tenantId, id, stored) {
        const at = seen.get(`${tenantId}:${id}`)?.at;
        return at !== undefined && at > (stored?.getTime() ?? 0) ? new Date(at) : stored;
      },
      isOnline: (seenAt) => seenAt !== null && seenAt > onlineSince(),
      onlineSince,
      seenAt: (tenant, id) =>
        `(select k.seen_at from ${s}.contacts k where k.tenant_id = ${tenant} and k.channel = '${channel}' and k.target_id = ${id})`,
      forget: async (client, tenantId, id) => {
        await client.query({
          text: `delete from ${s}.contacts where tenant_id = $1 and channel = $2 and target_id = $3`,
          values: [tenantId, channel, id],
        });
      },
    };
  }

  /** Whatever is to be written, now; what cannot be written now is written next time. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const toWrite = this.#unwritten;
    if (toWrite.size === 0) return this.#writing;
    this.#unwritten = new Map();
    this.#writing = this.#writing.then(async () => {
      // in one order for all nodes, so that two that write the same contacts cannot wait for each other
      const contacts = [...toWrite].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, contact]) => contact);
      try {
        for (let from = 0; from < contacts.length; from += MOST_PER_STATEMENT)
          await this.#store(contacts.slice(from, from + MOST_PER_STATEMENT));
      } catch (error) {
        this.#options.log.warn({ err: error }, 'The last contacts could not be written; trying again.');
        for (const [key, contact] of toWrite)
          if (!this.#unwritten.has(key)) this.#unwritten.set(key, contact);
        this.#later();
      }
    });
    return this.#writing;
  }

  async #store(contacts: readonly Contact[]): Promise<void> {
    const { db, onlineSeconds, schema: s } = this.#options;
    await db.query({
      name: 'muster_contacts',
      text: `insert into ${s}.contacts as k (tenant_id, channel, target_id, seen_at, online_until)
        select i.*, i.seen_at + make_interval(secs => $5) from unnest($1::int[], $2::text[], $3::bigint[], $4::timestamptz[]) i(tenant_id, channel, target_id, seen_at)
        on conflict (tenant_id, channel, target_id) do update set seen_at = excluded.seen_at, online_until = excluded.online_until
          where k.seen_at < excluded.seen_at`,
      values: [
        contacts.map(({ tenantId }) => tenantId),
        contacts.map(({ channel }) => channel),
        contacts.map(({ id }) => id),
        contacts.map(({ at }) => at),
        onlineSeconds,
      ],
    });
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref();
  }
}
