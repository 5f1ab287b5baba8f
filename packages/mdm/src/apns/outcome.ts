/** The outcome of a push. Judged by status and reason, never by text. */
export type PushOutcome =
  /** APNs accepted it; whether the device gets it is another question. */
  | { readonly kind: 'accepted'; readonly apnsId: string | null }
  /**
   * About one device, but also about all of them if certificate and topic do not match: raise an alert, do not delete
   * tokens in masses.
   */
  | { readonly kind: 'bad-token'; readonly reason: string }
  /** Dead since then; a later token is another one. */
  | { readonly kind: 'unregistered' | 'expired-token'; readonly reason: string; readonly at: Date | null }
  /** The configuration is wrong: nothing is wrong with the device, and trying again does not help. */
  | { readonly kind: 'provider-fault'; readonly status: number | null; readonly reason: string }
  /** Undecided: try again. */
  | {
      readonly kind: 'again';
      readonly status: number | null;
      readonly reason: string;
      readonly retryAfterMs: number | null;
    };

export interface ApnsAnswer {
  readonly status: number;
  readonly apnsId?: string | undefined;
  readonly retryAfter?: string | undefined;
  readonly body: string;
}

export function outcomeOf({ status, apnsId, retryAfter, body }: ApnsAnswer): PushOutcome {
  if (status === 200) return { kind: 'accepted', apnsId: apnsId ?? null };
  const { reason, timestamp } = readBody(body);
  if (status === 400 && reason === 'BadDeviceToken') return { kind: 'bad-token', reason };
  if (status === 410) {
    const at = timestamp === null ? null : new Date(timestamp);
    return { kind: reason === 'ExpiredToken' ? 'expired-token' : 'unregistered', reason, at };
  }
  if (status === 429 || status >= 500)
    return { kind: 'again', status, reason, retryAfterMs: readRetryAfter(retryAfter) };
  return { kind: 'provider-fault', status, reason };
}

/** The `reason` of a response or of a GOAWAY. */
export function readBody(text: string): { reason: string; timestamp: number | null } {
  try {
    const { reason, timestamp } = JSON.parse(text) ?? {};
    return {
      reason: typeof reason === 'string' ? reason.slice(0, 100) : 'Unknown',
      timestamp: typeof timestamp === 'number' && Number.isFinite(timestamp) ? timestamp : null,
    };
  } catch {
    return { reason: 'Unknown', timestamp: null };
  }
}

function readRetryAfter(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,5}$/.test(header) ? Number(header) * 1_000 : null;
}

export const again = (reason: string): PushOutcome => ({
  kind: 'again',
  status: null,
  reason,
  retryAfterMs: null,
});
