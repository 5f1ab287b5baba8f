import { BoundedMap } from '@muster/engine';
import { type Config, SettingError } from '../config.ts';
import type { Log } from '../http/logging.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';

/** A QStash account that sends callbacks instead of our own deliveries. */
export interface QstashAccount {
  readonly url: string;
  readonly token: string;
  readonly currentKey: string;
  readonly nextKey: string;
  /** The URL at which QStash reaches this server. */
  readonly publicUrl: string;
}

const TIMEOUT_MS = 10_000;
const REMEMBERED = 100_000;

/** All settings or none: half an account would accept callbacks whose signatures are then refused. */
export function accountOf(config: Config): QstashAccount | null {
  const given = {
    url: config.QSTASH_URL,
    token: config.QSTASH_TOKEN,
    currentKey: config.QSTASH_CURRENT_SIGNING_KEY,
    nextKey: config.QSTASH_NEXT_SIGNING_KEY,
  };
  if (Object.values(given).every((value) => value === null)) return null;
  if (Object.values(given).some((value) => value === null))
    throw new SettingError(
      'QSTASH_URL',
      'must be set together with QSTASH_TOKEN, QSTASH_CURRENT_SIGNING_KEY and QSTASH_NEXT_SIGNING_KEY.',
    );
  if (config.MUSTER_PUBLIC_URL === null)
    throw new SettingError('MUSTER_PUBLIC_URL', 'must be set so that QStash can reach this server.');
  return { ...given, publicUrl: config.MUSTER_PUBLIC_URL } as QstashAccount;
}

/** The account is called after the commit: a failure is logged and fails nothing. */
export class AccountCalls {
  readonly #account: QstashAccount;
  readonly #log: Log;
  readonly #outgoing: Outgoing;
  /** Message ids of the account, while this process lives: a message that is missing here cannot be cancelled there. */
  readonly #messageIds = new BoundedMap<string, string>(REMEMBERED);
  /** One call after the other per deduplication id: a cancel comes after what it cancels. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(account: QstashAccount, outgoing: Outgoing, log: Log) {
    this.#account = account;
    this.#outgoing = outgoing;
    this.#log = log;
  }

  publish(call: { path: string; body: string; at: Date; deduplicationId: string; retries: number }): void {
    this.#next(call.deduplicationId, async () => {
      const answer = await this.#send('POST', `/v2/publish/${this.#account.publicUrl}${call.path}`, {
        body: call.body,
        headers: {
          'content-type': 'application/json',
          'upstash-method': 'POST',
          'upstash-not-before': String(Math.ceil(call.at.getTime() / 1_000)),
          'upstash-retries': String(call.retries),
          'upstash-deduplication-id': call.deduplicationId,
        },
      });
      const { messageId } = JSON.parse(answer) as { messageId?: unknown };
      if (typeof messageId === 'string') this.#messageIds.set(call.deduplicationId, messageId);
    });
  }

  cancel(deduplicationId: string): void {
    this.#next(deduplicationId, async () => {
      const messageId = this.#messageIds.get(deduplicationId);
      if (messageId === undefined) return;
      this.#messageIds.delete(deduplicationId);
      await this.#send('DELETE', `/v2/messages/${encodeURIComponent(messageId)}`, {
        body: null,
        headers: {},
      });
    });
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #next(deduplicationId: string, run: () => Promise<void>): void {
    const mine = (this.#running.get(deduplicationId) ?? Promise.resolve())
      .then(run)
      .catch((error) => this.#log.warn({ err: error, deduplicationId }, 'QStash did not accept a call.'))
      .finally(() => {
        if (this.#running.get(deduplicationId) === mine) this.#running.delete(deduplicationId);
      });
    this.#running.set(deduplicationId, mine);
  }

  async #send(
    method: string,
    path: string,
    { body, headers }: { body: string | null; headers: Record<string, string> },
  ): Promise<string> {
    const { url, token } = this.#account;
    const answer = await this.#outgoing.send({
      ...{ url: `${url}${path}`, method, body, timeoutMs: TIMEOUT_MS },
      headers: { ...headers, authorization: `Bearer ${token}` },
      trusted: 'setting',
    });
    if (answer.outcome !== 'answered') throw new Error(answer.text);
    if (answer.status >= 300) throw new Error(`QStash answered ${answer.status}.`);
    return answer.body.toString('utf8');
  }
}
