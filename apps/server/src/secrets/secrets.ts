import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { secretsError } from './errors.ts';

/**
 * Values hidden from readers of the database: sealed with AES-256-GCM under a key outside of it. A sealed value names
 * its key, so keys can change. It opens for its own purpose only, so writing to the database is not enough to move a
 * value from one row to another.
 */
export interface Secrets {
  /** Whether there is a key; without one nothing can be sealed. */
  readonly isReady: boolean;
  /** `purpose` names the one place of the value: `unlock-token:<tenant>:<device>`. */
  seal(value: Uint8Array | string, purpose: string): Buffer;
  open(sealed: Uint8Array, purpose: string): Buffer;
}

/** version · key id · nonce · ciphertext · tag */
const VERSION = 1;
const ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES;
export const KEY_BYTES = 32;

/** Identifies the key without revealing anything about it. */
export function keyId(key: Uint8Array): Buffer {
  return createHash('sha256').update('muster secrets key').update(key).digest().subarray(0, ID_BYTES);
}

/** Seals with the first key, opens with any of them. */
export function createSecrets(keys: readonly Uint8Array[]): Secrets {
  const byId = new Map(keys.map((key) => [keyId(key).toString('hex'), key]));
  const [present] = keys;

  /** Head and purpose are not hidden, but cannot be changed. */
  const associated = (head: Uint8Array, purpose: string) => Buffer.concat([head, Buffer.from(purpose)]);

  return {
    isReady: present !== undefined,

    seal(value, purpose) {
      if (!present)
        throw secretsError(
          'MUSTER_SECRETS_KEY_MISSING',
          'Secrets cannot be sealed: set MUSTER_SECRETS_KEY to the same value on every node. Try: openssl rand -base64 32',
        );
      const head = Buffer.concat([Buffer.from([VERSION]), keyId(present)]);
      const nonce = randomBytes(NONCE_BYTES); // random: among 2^32 values under one key, two collide with a chance of 1 in 2^33
      const cipher = createCipheriv('aes-256-gcm', present, nonce).setAAD(associated(head, purpose));
      const hidden = Buffer.concat([cipher.update(value as string), cipher.final()]);
      return Buffer.concat([head, nonce, hidden, cipher.getAuthTag()]);
    },

    open(given, purpose) {
      const sealed = Buffer.from(given);
      const head = sealed.subarray(0, HEAD_BYTES);
      const key = byId.get(head.subarray(1).toString('hex'));
      if (sealed[0] !== VERSION || !key || sealed.byteLength < HEAD_BYTES + NONCE_BYTES + TAG_BYTES)
        throw secretsError('MUSTER_SECRET_UNREADABLE', 'A sealed value needs a key that is not set.');
      try {
        const nonce = sealed.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES);
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(associated(head, purpose))
          .setAuthTag(sealed.subarray(-TAG_BYTES));
        const hidden = sealed.subarray(HEAD_BYTES + NONCE_BYTES, -TAG_BYTES);
        return Buffer.concat([decipher.update(hidden), decipher.final()]);
      } catch (cause) {
        throw secretsError('MUSTER_SECRET_UNREADABLE', 'A sealed value was changed or moved.', {
          cause,
        });
      }
    },
  };
}
