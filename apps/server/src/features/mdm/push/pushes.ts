import type { Queryable, Transaction } from '@muster/engine';
import type { PushOutcome } from '@muster/mdm';

/** The token by which a device can be woken up, from its TokenUpdate. */
export interface PushToken {
  readonly token: Uint8Array;
  readonly magic: string;
  readonly topic: string;
}

/** Why a token is no longer of use. */
export type DeadReason = 'apns_bad_token' | 'apns_unregistered';

/** The outcome of a message for the companion app. */
export type MessageOutcome =
  | { readonly kind: 'accepted' }
  | {
      readonly kind: 'failed';
      readonly code: 'MESSAGE_PUSH_NOT_CONFIGURED' | 'MESSAGE_TOO_LARGE' | 'TOO_LATE' | DeadReason;
    };

export interface NewMessage {
  /** Returned with the outcome; a second message with the same id is ignored. */
  readonly id: string;
  readonly text: string;
  /** After this it is no longer sent. */
  readonly until?: Date | null;
}

export type OnDead = (
  tx: Transaction,
  tenantId: number,
  deviceId: string,
  reason: DeadReason,
) => Promise<void>;
/** The companion app has registered a token. */
export type OnAppToken = (tx: Transaction, tenantId: number, deviceId: string) => Promise<void>;
export type OnMessage = (
  tx: Transaction,
  tenantId: number,
  deviceId: string,
  id: string,
  outcome: MessageOutcome,
) => Promise<void>;

/**
 * Wakes devices up. A door that queues something for a device wants a push in the same transaction; APNs is called
 * after the commit and never in it. A device that does not come is pushed again after 30 s, 2, 8, 30 min, then daily,
 * until it comes, has no valid token, or is forgotten.
 */
export interface Pushes {
  /** At a TokenUpdate of the device's own channel. A device whose token was unknown or dead is pushed to at once. */
  tokenIs(tx: Queryable, tenantId: number, deviceId: string, token: PushToken): Promise<void>;
  /**
   * These devices should come. Devices without a valid token are pushed to as soon as they have one. `quietly`: the
   * caller will push (`now`); if it dies before, housekeeping does.
   */
  want(
    tx: Queryable,
    tenantId: number,
    deviceIds: readonly string[],
    how?: { quietly: boolean },
  ): Promise<void>;
  /**
   * The device is here, so it need not be woken. Call it before looking for what waits: anything wanted later keeps its
   * push. Or call it at any time with the `want` of its row in `push_ledger`, read by the statement that looks.
   */
  seen(tenantId: number, deviceId: string, want?: string): Promise<void>;
  /** The device has left ('mdm'), or is deleted ('all': the companion app's token, too). */
  forget(tx: Queryable, tenantId: number, deviceId: string, what?: 'mdm' | 'all'): Promise<void>;
  /** Before the start. Called in the transaction that buries the token; the want stays for the next token. */
  onDead(told: OnDead): void;
  /** Why no push reaches the device; null: one may. */
  deadReasonOf(client: Queryable, tenantId: number, deviceId: string): Promise<DeadReason | null>;
  /** Before the start. Called in the transaction that stores the token. */
  onAppToken(told: OnAppToken): void;
  /** A message to the companion app; `onMessage` gets its outcome. */
  message(tx: Queryable, tenantId: number, deviceId: string, message: NewMessage): Promise<void>;
  /** Before the start. Called in the transaction that ends the message. */
  onMessage(told: OnMessage): void;
  /**
   * At an operator's request: pushes at once, whatever was sent before and even if pushes are stopped. Devices without
   * a token, and those that another node is pushing to, are missing in the answer.
   */
  now(tenantId: number, deviceIds: readonly string[]): Promise<Map<string, PushOutcome>>;
  /**
   * The topic that new devices of the tenant enrol with: that of its newest push certificate, or of the settings; null:
   * none.
   */
  topicOf(client: Queryable, tenantId: number): Promise<string | null>;
  /** Whether devices of the tenant may have this topic: that of a present or former certificate. */
  knowsTopic(client: Queryable, tenantId: number, topic: string): Promise<boolean>;
}
