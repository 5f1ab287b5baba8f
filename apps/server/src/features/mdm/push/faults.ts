import { type Database, whileLocked } from '@muster/engine';
import type { Alerts } from '../../../alerts/alerts.ts';
import type { Provider } from './providers.ts';
import type { Topics } from './topics.ts';

/** How long a topic is stopped after APNs has reported a problem with our certificate. */
const STOPPED_MS = 300_000;
/** This many devices in a row without a valid token are no coincidence: the certificate is for something else. */
const MOST_BAD_TOKENS = 10;

type Of = Provider['topic'];

/**
 * Errors that are our fault, not a device's: pushes of that topic stop, one alert is raised, and every five minutes one
 * push tries whether it works again. Devices and executions are not affected.
 */
export class Faults {
  readonly #options: { db: Database; alerts: Alerts; now: () => Date; topics: Topics };
  readonly #stopping = new Map<string, Promise<boolean>>();
  readonly #badTokens = new Map<string, number>();

  constructor(options: { db: Database; alerts: Alerts; now: () => Date; topics: Topics }) {
    this.#options = options;
  }

  /**
   * Many pushes are on their way when the first one fails: they share one stop. False: the error was about a
   * certificate that has been renewed since.
   */
  stop(of: Of, reason: string): Promise<boolean> {
    const key = `${keyOf(of)}:${of.changedAt.getTime()}:${reason}`;
    const stopping =
      this.#stopping.get(key) ?? this.#stop(of, reason).finally(() => this.#stopping.delete(key));
    this.#stopping.set(key, stopping);
    return stopping;
  }

  /** True: the certificate is at fault, because too many devices in a row had this error; the token is kept. */
  isOurFault(of: Of): boolean {
    const count = (this.#badTokens.get(keyOf(of)) ?? 0) + 1;
    this.#badTokens.set(keyOf(of), count);
    return count > MOST_BAD_TOKENS;
  }

  /** APNs knows us: it has accepted a push, or said since when a token is invalid. */
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
