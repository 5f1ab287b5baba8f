import { type Database, whileLocked } from '@muster/engine';
import type { Alerts } from '../../../alerts/alerts.ts';
import type { Provider } from './providers.ts';
import type { Topics } from './topics.ts';

/** How long a topic is left alone after APNs has said that something is wrong with us. */
const STOPPED_MS = 300_000;
/** So many devices in a row without a valid token are no chance: the certificate is for something else. */
const MOST_BAD_TOKENS = 10;

type Of = Provider['topic'];

/**
 * What is wrong with us and not with a device: pushes of that topic stop, a person is told once, and after five minutes one
 * push tries whether it is over. No device and no execution has anything to do with it.
 */
export class Faults {
  readonly #options: { db: Database; alerts: Alerts; now: () => Date; topics: Topics };
  readonly #stopping = new Map<string, Promise<boolean>>();
  readonly #badTokens = new Map<string, number>();

  constructor(options: { db: Database; alerts: Alerts; now: () => Date; topics: Topics }) {
    this.#options = options;
  }

  /** Many are on their way when the first one fails: they share one stop. False: it was said of a certificate that was renewed since. */
  stop(of: Of, reason: string): Promise<boolean> {
    const key = `${keyOf(of)}:${of.changedAt.getTime()}:${reason}`;
    const stopping =
      this.#stopping.get(key) ?? this.#stop(of, reason).finally(() => this.#stopping.delete(key));
    this.#stopping.set(key, stopping);
    return stopping;
  }

  /** True: it is the certificate, and no token must be buried for it. Said of one device and of all alike. */
  isOurFault(of: Of): boolean {
    const count = (this.#badTokens.get(keyOf(of)) ?? 0) + 1;
    this.#badTokens.set(keyOf(of), count);
    return count > MOST_BAD_TOKENS;
  }

  /** APNs knows us: it has accepted a push, or said since when it does not know a token. */
  async isFine(of: Of, wasStopped: boolean): Promise<void> {
    this.#badTokens.delete(keyOf(of));
    if (wasStopped) await this.#options.topics.resume(this.#options.db, of.tenantId, of.topic);
  }

  #stop(of: Of, reason: string): Promise<boolean> {
    const { alerts, db, now, topics } = this.#options;
    const { tenantId, topic } = of;
    return whileLocked(db, async (tx) => {
      const until = new Date(now().getTime() + STOPPED_MS);
      const stopped = await topics.stop(tx, of, reason, until);
      if (stopped !== 'new') return stopped === 'known';
      const text = `Pushes for ${topic} have stopped: ${SENTENCES[reason] ?? `APNs says ${reason}.`} They are tried again every five minutes.`;
      await alerts.raise(tx, { tenantId, name: 'push.stopped', text, data: { topic, reason } });
      return true;
    });
  }
}

/** Why pushes of a topic have stopped. */
export const SENTENCES: Readonly<Record<string, string>> = {
  NoCertificate: 'there is no push certificate for it.',
  CertificateUnreadable: 'its push certificate cannot be opened with MUSTER_SECRETS_KEY.',
  BadDeviceToken: 'APNs rejects all tokens, so the certificate may be for another app.',
};

const keyOf = ({ tenantId, topic }: Of) => `${tenantId}:${topic}`;
