import type { Queryable } from '@muster/engine';

/** The channel of all messages. */
export const BUS = 'bus';

/** The payload of an action of the bus. */
export interface Stored {
  readonly key: string;
  readonly body: unknown;
}

/** A message as it was published. */
export interface Message<Body = unknown> {
  readonly tenantId: number;
  /** Messages with the same key are taken in order, one after the other. */
  readonly key: string;
  readonly body: Body;
}

export interface Received<Body = unknown> extends Message<Body> {
  readonly id: string;
  /** How often it was handed out, this time included. */
  readonly receives: number;
}

export interface DeadLetter<Body = unknown> extends Message<Body> {
  readonly id: string;
  /** Of the last try; null: it timed out. */
  readonly error: string | null;
}

/** A consumer of a topic. A topic may have several; each gets every message once. */
export interface Subscription<Body = unknown> {
  readonly topic: string;
  /** Never changes: the lanes are named after it. */
  readonly name: string;
  /**
   * Runs in one transaction with the report of the messages, so a repeated message changes nothing. If it throws, each
   * message is tried in a transaction of its own.
   */
  take(tx: Queryable, messages: readonly Received<Body>[]): Promise<void>;
  /** Runs in the transaction in which the message is given up. */
  giveUp?(tx: Queryable, letter: DeadLetter<Body>): Promise<void>;
}

/** The message or the code is at fault: trying again would not help. All other errors are retried. */
export class Unusable extends Error {
  override readonly name = 'Unusable';
}
