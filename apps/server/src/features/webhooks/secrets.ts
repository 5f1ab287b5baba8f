import type { Secrets } from '../../secrets/secrets.ts';
import type { WebhookKey, WebhookRow } from './queries.ts';
import { newSecret } from './signing.ts';

const purposeOf = ({ tenantId, webhookId }: WebhookKey) => `webhook-secret:${tenantId}:${webhookId}`;

/** A new secret, as shown and as stored. */
export function makeSecret(secrets: Secrets, webhook: WebhookKey): { secret: string; sealed: Buffer } {
  const secret = newSecret();
  return { secret, sealed: secrets.seal(secret, purposeOf(webhook)) };
}

/** The secrets valid at this time, the present one first. */
export const createSecretsOf = (secrets: Secrets) => (row: WebhookRow, at: Date) =>
  [
    row.secret,
    ...(row.formerSecret && row.formerUntil && at < row.formerUntil ? [row.formerSecret] : []),
  ].map((sealed) => secrets.open(sealed, purposeOf(row)).toString('utf8'));
export type SecretsOf = ReturnType<typeof createSecretsOf>;
