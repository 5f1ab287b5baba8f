import { BoundedMap, byTenant, type Database, type Queryable, type Transaction } from '@muster/engine';
import type { Instance } from '../http/instance.ts';
import type { Log } from '../http/logging.ts';
import { warnUnlessAway } from '../http/logging.ts';
import { createInstanceQueries, type InstanceContact, type KnownInstance } from './instances.ts';

/**
 * When hosts, devices or PCs were last heard of, each over its channel. Contacts are stored at intervals, all of an
 * interval in one statement: a hundred thousand contacts do not cost a hundred thousand updates, no request waits for
 * them, and they are the only thing that a crash may lose. Reads on this node see them at once.
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
  /** A target heard of within this many seconds is online. */
  readonly onlineSeconds: number;
  readonly schema: string;
}

/** Reads when targets were last heard of. */
export interface LastContacts {
  /** The later of what is stored and what this node knows. */
  latest(tenantId: number, id: string, stored: Date | null): Date | null;
  isOnline(seenAt: Date | null): boolean;
  /** For a condition in SQL: a target seen later than this is online. */
  onlineSince(): Date;
  /** The stored column, for the target named by these expressions. */
  seenAt(tenant: string, id: string): string;
}

/** One channel's targets, known by their ids. */
export interface ChannelContacts extends LastContacts {
  heardOf(tenantId: number, id: string, instance?: Instance | null): void;
  /** Whether several clients use its token, as far as this node knows. */
  isShared(tenantId: number, id: string): boolean;
  /** Its clients that send an instance, newest first. */
  instances(client: Queryable, tenantId: number, id: string): Promise<KnownInstance[]>;
  /** In the transaction in which the target is deleted. */
  forget(client: Queryable | Transaction, tenantId: number, id: string): Promise<void>;
  /** In the transaction in which the target begins a new life, which has no contact yet. */
  beginAnew(client: Queryable | Transaction, tenantId: number, id: string): Promise<void>;
}

/** By target: its last contact, and the last one that is stored or about to be. */
type Seen = BoundedMap<string, { at: number; noted: number; by: string }>;

const WRITE_AFTER_MS = 1_000;
const MOST_KNOWN = 100_000;
const MOST_PER_STATEMENT = 5_000;

export class Contacts {
  readonly #options: Options;
  readonly #queries;
  readonly #seen = new Map<string, Seen>();
  #unwritten = new Map<string, Contact>();
  #unwrittenInstances = new Map<string, InstanceContact>();
  /** Targets whose token is used by several clients. */
  readonly #shared = new BoundedMap<string, true>(MOST_KNOWN);
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
    this.#queries = createInstanceQueries(options.schema);
  }

  /** For targets that are heard of over several channels under the same id: the latest contact counts. */
  ofAny(channels: readonly string[]): LastContacts {
    const { schema: s } = this.#options;
    return {
      latest: (tenantId, id, stored) => {
        const times = channels.map((channel) => this.#seenOn(channel).get(`${tenantId}:${id}`)?.at ?? 0);
        const at = Math.max(...times);
        return at > (stored?.getTime() ?? 0) ? new Date(at) : stored;
      },
      isOnline: (seenAt) => seenAt !== null && seenAt > this.#onlineSince(),
      onlineSince: () => this.#onlineSince(),
      seenAt: (tenant, id) =>
        `(select max(k.seen_at) from ${s}.contacts k where k.tenant_id = ${tenant} and k.channel in (${channels.map((channel) => `'${channel}'`).join(', ')}) and k.target_id = ${id})`,
    };
  }

  /** `everyMs`: how far the stored contacts may lag behind. */
  of(channel: string, everyMs: number): ChannelContacts {
    const { now, schema: s } = this.#options;
    const seen = this.#seenOn(channel);
    /** The last contact of each instance, and the last stored one. */
    const speaking = new BoundedMap<string, { at: number; noted: number; version: string | null }>(
      MOST_KNOWN,
    );
    const isNew = (noted: number | undefined, at: number) => noted === undefined || at - noted >= everyMs;
    const noteInstance = (tenantId: number, targetId: string, { id, version }: Instance, at: number) => {
      const key = `${tenantId}:${targetId}#${id}`;
      const noted = speaking.get(key)?.noted;
      const notes = isNew(noted, at);
      speaking.set(key, { at, noted: notes ? at : (noted as number), version });
      if (!notes) return;
      const contact = { tenantId, channel, targetId, id, version, at: new Date(at) };
      this.#unwrittenInstances.set(`${channel}:${key}`, contact);
      this.#later();
    };
    const forgetAll = async (client: Queryable | Transaction, tenantId: number, id: string) => {
      const key = `${tenantId}:${id}`;
      const forgetHere = () => {
        seen.delete(key);
        this.#unwritten.delete(`${channel}:${key}`);
        for (const [one, { targetId }] of this.#unwrittenInstances)
          if (targetId === id && one.startsWith(`${channel}:${key}#`)) this.#unwrittenInstances.delete(one);
      };
      if ('afterCommit' in client) client.afterCommit(forgetHere);
      else forgetHere();
      await this.#queries.forget(client, { tenantId, channel, targetId: id });
    };
    return {
      heardOf: (tenantId, id, instance = null) => {
        const key = `${tenantId}:${id}`;
        const at = now().getTime();
        const before = seen.get(key);
        const by = instance?.id ?? '';
        if (before && before.by !== by) this.#shared.set(`${channel}:${key}`, true);
        if (instance) noteInstance(tenantId, id, instance, at);
        const notes = isNew(before?.noted, at);
        seen.set(key, { at, noted: notes ? at : (before?.noted as number), by });
        if (!notes) return;
        this.#unwritten.set(`${channel}:${key}`, { tenantId, channel, id, at: new Date(at) });
        this.#later();
      },
      ...this.ofAny([channel]),
      isShared: (tenantId, id) => this.#shared.get(`${channel}:${tenantId}:${id}`) !== undefined,
      instances: async (client, tenantId, targetId) =>
        (await this.#queries.list(client, { tenantId, channel, targetId })).map((stored) => {
          const here = speaking.get(`${tenantId}:${targetId}#${stored.id}`);
          return here && here.at > stored.lastSeenAt.getTime()
            ? { id: stored.id, version: here.version, lastSeenAt: new Date(here.at) }
            : stored;
        }),
      seenAt: (tenant, id) =>
        `(select k.seen_at from ${s}.contacts k where k.tenant_id = ${tenant} and k.channel = '${channel}' and k.target_id = ${id})`,
      forget: async (client, tenantId, id) => {
        await forgetAll(client, tenantId, id);
        await client.query({
          text: `delete from ${s}.contacts where tenant_id = $1 and channel = $2 and target_id = $3`,
          values: [tenantId, channel, id],
        });
      },
      beginAnew: async (client, tenantId, id) => {
        await forgetAll(client, tenantId, id);
        // the row stays: another node, or this one at this moment, may be about to store a contact of the former life
        await client.query({
          text: `insert into ${s}.contacts (tenant_id, channel, target_id, forgotten_at) values ($1, $2, $3, $4)
            on conflict (tenant_id, channel, target_id) do update set seen_at = null, online_until = null, forgotten_at = excluded.forgotten_at`,
          values: [tenantId, channel, id, now()],
        });
      },
    };
  }

  #onlineSince(): Date {
    const { now, onlineSeconds } = this.#options;
    return new Date(now().getTime() - onlineSeconds * 1_000);
  }

  #seenOn(channel: string): Seen {
    const seen = this.#seen.get(channel) ?? new BoundedMap(MOST_KNOWN);
    this.#seen.set(channel, seen);
    return seen;
  }

  /** Stores all pending contacts now; on failure they are stored next time. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const toWrite = this.#unwritten;
    const instances = this.#unwrittenInstances;
    if (toWrite.size === 0 && instances.size === 0) return this.#writing;
    this.#unwritten = new Map();
    this.#unwrittenInstances = new Map();
    this.#writing = this.#writing.then(async () => {
      // all nodes use one order, so two that store the same contacts cannot deadlock
      const contacts = inOrder(toWrite);
      const speaking = inOrder(instances);
      try {
        for (let from = 0; from < contacts.length; from += MOST_PER_STATEMENT)
          await this.#store(contacts.slice(from, from + MOST_PER_STATEMENT));
        for (let from = 0; from < speaking.length; from += MOST_PER_STATEMENT)
          await this.#storeInstances(speaking.slice(from, from + MOST_PER_STATEMENT));
      } catch (error) {
        this.#options.log[warnUnlessAway(error)](
          { err: error },
          'Last contacts could not be written; trying again.',
        );
        for (const [key, contact] of toWrite)
          if (!this.#unwritten.has(key)) this.#unwritten.set(key, contact);
        for (const [key, contact] of instances)
          if (!this.#unwrittenInstances.has(key)) this.#unwrittenInstances.set(key, contact);
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
          where excluded.seen_at > coalesce(greatest(k.seen_at, k.forgotten_at), '-infinity')`,
      values: [
        contacts.map(({ tenantId }) => tenantId),
        contacts.map(({ channel }) => channel),
        contacts.map(({ id }) => id),
        contacts.map(({ at }) => at),
        onlineSeconds,
      ],
    });
  }

  /** Also how this node learns of clients that only another node has heard of. */
  async #storeInstances(contacts: readonly InstanceContact[]): Promise<void> {
    const { db } = this.#options;
    for (const some of byTenant(db, contacts))
      for (const { tenantId, channel, targetId } of await this.#queries.store(db, some))
        this.#shared.set(`${channel}:${tenantId}:${targetId}`, true);
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref();
  }
}

function inOrder<T>(toWrite: ReadonlyMap<string, T>): T[] {
  return [...toWrite].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, contact]) => contact);
}
