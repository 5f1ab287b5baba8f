import type { Queryable, Transaction } from '@muster/engine';
import type { PushOutcome } from '@muster/mdm';

/** The token by which a device can be woken up, as its TokenUpdate says. */
export interface PushToken {
  readonly token: Uint8Array;
  readonly magic: string;
  readonly topic: string;
}

/** Why a token is of no use any more. */
export type DeadReason = 'apns_bad_token' | 'apns_unregistered';

/** What became of a message for the companion app. */
export type MessageOutcome =
  | { readonly kind: 'accepted' }
  | {
      readonly kind: 'failed';
      readonly code: 'MESSAGE_PUSH_NOT_CONFIGURED' | 'MESSAGE_TOO_LARGE' | 'TOO_LATE' | DeadReason;
    };

export interface NewMessage {
  /** Comes back with the outcome; the same one twice is one message. */
  readonly id: string;
  readonly text: string;
  /** After this it is not sent any more. */
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
 * Waking devices up. Whoever has something for a device wants a push, in the transaction of what waits; APNs is spoken to
 * after the commit and never inside of it. A device that does not come is pushed again after 30 s, 2, 8, 30 min, then
 * daily, until it comes, has no valid token, or is forgotten.
 */
export interface Pushes {
  /** At a TokenUpdate of the device's own channel. One that was unknown or dead is pushed to at once. */
  tokenIs(tx: Queryable, tenantId: number, deviceId: string, token: PushToken): Promise<void>;
  /**
   * These are to come. Devices without a valid token are pushed to as soon as they have one. `quietly`: the caller pushes
   * himself (`now`); if he does not live to do it, housekeeping does.
   */
  want(
    tx: Queryable,
    tenantId: number,
    deviceIds: readonly string[],
    how?: { quietly: boolean },
  ): Promise<void>;
  /**
   * The device is here, so nobody needs to wake it. Call it before you look for what waits: what is wanted later keeps its
   * push. Or call it whenever you like with the `want` of its row in `push_ledger`, read by the statement that looks.
   */
  seen(tenantId: number, deviceId: string, want?: string): Promise<void>;
  /** The device has left ('mdm'), or is deleted ('all': the companion app's token, too). */
  forget(tx: Queryable, tenantId: number, deviceId: string, what?: 'mdm' | 'all'): Promise<void>;
  /** Before the start. Told in the transaction that buries the token; what was wanted stays wanted for the next token. */
  onDead(told: OnDead): void;
  /** Why no push reaches the device; null: one may. */
  deadReasonOf(client: Queryable, tenantId: number, deviceId: string): Promise<DeadReason | null>;
  /** Before the start. In the transaction that keeps the token. */
  onAppToken(told: OnAppToken): void;
  /** A message to the companion app; what became of it is told to `onMessage`. */
  message(tx: Queryable, tenantId: number, deviceId: string, message: NewMessage): Promise<void>;
  /** Before the start. In the transaction that ends the message. */
  onMessage(told: OnMessage): void;
  /**
   * An operator wants to know now: pushes at once, whatever was sent before and whether pushes are stopped or not. Devices
   * without a token, and those that somebody pushes to at this moment, are missing in the answer.
   */
  now(tenantId: number, deviceIds: readonly string[]): Promise<Map<string, PushOutcome>>;
  /** The topic that new devices of the tenant enrol with: that of its newest push certificate, or of the settings; null: there is none. */
  topicOf(client: Queryable, tenantId: number): Promise<string | null>;
  /** Whether devices of the tenant may have this topic: that of a certificate that it has or had. */
  knowsTopic(client: Queryable, tenantId: number, topic: string): Promise<boolean>;
}
