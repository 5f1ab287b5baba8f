import type { Queryable } from '@muster/engine';

/** The channel of all messages. */
export const BUS = 'bus';

/** What an action of the bus carries. */
export interface Stored {
  readonly key: string;
  readonly body: unknown;
}

/** A message as it was published. */
export interface Message<Body = unknown> {
  readonly tenantId: number;
  /** What must be in order has the same key: messages of one key are taken one after the other. */
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
  /** Of the last try; null: it ended with its time. */
  readonly error: string | null;
}

/** Whoever takes the messages of a topic. Several may, each gets every message once. */
export interface Subscription<Body = unknown> {
  readonly topic: string;
  /** A name for good: it is that of the lanes. */
  readonly name: string;
  /**
   * In one transaction with the report that they were taken, so a message that comes twice changes nothing. If it throws, each
   * is tried in a transaction of its own.
   */
  take(tx: Queryable, messages: readonly Received<Body>[]): Promise<void>;
  /** In the transaction in which it is given up. */
  giveUp?(tx: Queryable, letter: DeadLetter<Body>): Promise<void>;
}

/** A fault of the message or of our own: trying again would not help. Everything else is tried again. */
export class Unusable extends Error {
  override readonly name = 'Unusable';
}
