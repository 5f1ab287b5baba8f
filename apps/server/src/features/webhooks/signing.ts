import { createHmac, randomBytes } from 'node:crypto';

/** Signatures of Standard Webhooks: HMAC-SHA256 over id, time and body, one for each valid secret. */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export const newSecret = () => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

export function signatureHeaders(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signature = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${signature(secret)}`).join(' '),
  };
}
