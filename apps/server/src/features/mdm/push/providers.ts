import type { Database } from '@muster/engine';
import { ApnsClient, type PushCertificateFiles, readCertificate } from '@muster/mdm';
import { NotifiedCache } from '../../../database/notified-cache.ts';
import type { Secrets } from '../../../secrets/secrets.ts';
import type { CertificatesOfSettings } from './certificates-of-settings.ts';
import type { Topic, Topics } from './topics.ts';

/** The sender for a topic of a tenant, or why there is none. */
export interface Provider {
  readonly topic: Pick<Topic, 'tenantId' | 'topic' | 'changedAt'>;
  readonly sender: ApnsClient | { readonly fault: string };
}

interface Options {
  readonly db: Database;
  readonly schema: string;
  readonly url: string;
  readonly certificates: CertificatesOfSettings;
  readonly secrets: Secrets;
  readonly topics: Topics;
}

const MOST_KEPT = 10_000;
/** In case the notification of a new certificate is lost. */
const KEPT_MS = 60_000;

export const purposeOfKey = (tenantId: number, topic: string) => `push-key:${tenantId}:${topic}`;

/**
 * One APNs client per certificate, made on first use. A certificate renewed on another node is used here with the next
 * push; pushes on their way end with the old one.
 */
export class Providers {
  readonly #options: Options;
  readonly #cache: NotifiedCache<Provider>;
  readonly #clients = new Map<string, { readonly client: ApnsClient; certificate: string }>();
  readonly #reading = new Map<string, Promise<Provider>>();
  #listening: { stop(): Promise<void> } | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#cache = new NotifiedCache(options.db, {
      channel: `${options.schema}_push_topics`,
      most: MOST_KEPT,
      keptMs: KEPT_MS,
    });
  }

  async of(tenantId: number, topic: string): Promise<Provider> {
    const key = keyOf(tenantId, topic);
    const kept = this.#cache.get(key);
    if (kept) return kept;
    const reading =
      this.#reading.get(key) ?? this.#read(tenantId, topic).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  /** In the transaction of the change. */
  changed(
    tx: Parameters<NotifiedCache<Provider>['tell']>[0],
    tenantId: number,
    topic: string,
  ): Promise<void> {
    return this.#cache.tell(tx, [keyOf(tenantId, topic)]);
  }

  /** Until when pushes of this topic work; null: unknown. */
  notAfter({ certificate, topic }: Pick<Topic, 'certificate' | 'topic'>): Date | null {
    if (certificate !== null) return new Date(readCertificate(certificate).validTo);
    const { mdm, message } = this.#options.certificates;
    return [mdm, message].find((one) => one?.topic === topic)?.notAfter ?? null;
  }

  async start(): Promise<void> {
    this.#listening = await this.#cache.start();
  }

  /** Settles all pending pushes. */
  async stop(): Promise<void> {
    await this.#listening?.stop();
    await Promise.all([...this.#clients.values()].map(({ client }) => client.close()));
  }

  async #read(tenantId: number, topic: string): Promise<Provider> {
    const { db, topics } = this.#options;
    const key = keyOf(tenantId, topic);
    const { version } = this.#cache;
    // make the row, so the topic can be stopped even at its first use
    await topics.ensure(db, tenantId, topic);
    const row = await topics.get(db, tenantId, topic);
    const changedAt = row?.changedAt ?? new Date(0);
    const provider = { topic: { tenantId, topic, changedAt }, sender: this.#sender(tenantId, topic, row) };
    this.#cache.keep(key, provider, version);
    return provider;
  }

  #sender(tenantId: number, topic: string, row: Topic | null): Provider['sender'] {
    const { certificates, secrets } = this.#options;
    if (row?.certificate && row.sealedKey) {
      try {
        const key = secrets.open(row.sealedKey, purposeOfKey(tenantId, topic)).toString('utf8');
        return this.#client(keyOf(tenantId, topic), { certificate: row.certificate, key });
      } catch {
        return { fault: 'CertificateUnreadable' };
      }
    }
    // certificates of the settings are shared by all tenants, and so are their connections
    for (const app of ['mdm', 'message'] as const) {
      const certificate = certificates[app];
      if (certificate?.topic === topic) return this.#client(app, certificate);
    }
    return { fault: 'NoCertificate' };
  }

  #client(key: string, { certificate, key: keyPem }: PushCertificateFiles): ApnsClient {
    const { certificates, url } = this.#options;
    const files = { certificate, key: keyPem };
    const known = this.#clients.get(key);
    if (!known) {
      const client = new ApnsClient({
        ...files,
        url,
        ...(certificates.ca === null ? {} : { ca: certificates.ca }),
      });
      this.#clients.set(key, { client, certificate });
      return client;
    }
    if (known.certificate !== certificate) {
      known.client.useCertificate(files);
      known.certificate = certificate;
    }
    return known.client;
  }
}

const keyOf = (tenantId: number, topic: string) => `${tenantId}:${topic}`;
