import type { PushOutcome } from '@muster/mdm';
import type { Pushes } from './push/index.ts';

/** An operator wants a phone to come now, and the answer of APNs. */
export interface Said {
  readonly push_result?: string;
  readonly push_error?: string;
}

/** Without an answer of APNs within this time; the push is repeated all the same. */
const PATIENCE_MS = 10_000;
const NO_ANSWER: Said = { push_error: 'APNs has not answered yet; the push will be repeated.' };

export async function pushNow(
  pushes: Pushes,
  tenantId: number,
  deviceIds: readonly string[],
): Promise<(deviceId: string) => Said> {
  const outcomes = await within(pushes.now(tenantId, deviceIds), PATIENCE_MS);
  return (deviceId) => (outcomes ? said(outcomes.get(deviceId)) : NO_ANSWER);
}

function said(outcome: PushOutcome | undefined): Said {
  if (!outcome) return { push_result: 'A push is already on its way, or waits for a token.' };
  if (outcome.kind === 'accepted') return { push_result: outcome.apnsId ?? 'accepted' };
  return { push_error: outcome.reason };
}

/** Null: it takes longer. */
function within<T>(work: Promise<T>, ms: number): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
