import type { ErrorCode } from '@muster/contracts';

/** A refusal. Requests without an answer fail as `fetch` does, and an aborted signal with its own reason. */
export class MusterError extends Error {
  /** For programs to branch on; `null`: the answer did not come from Muster, but perhaps from a proxy. */
  readonly code: ErrorCode | null;
  readonly status: number;
  /** Seconds, if the server said when to try again. */
  readonly retryAfter: number | null;

  constructor(refusal: {
    readonly code: ErrorCode | null;
    readonly status: number;
    readonly message: string;
    readonly retryAfter: number | null;
  }) {
    super(refusal.message);
    this.name = 'MusterError';
    this.code = refusal.code;
    this.status = refusal.status;
    this.retryAfter = refusal.retryAfter;
  }
}

export async function refusalOf(response: Response): Promise<MusterError> {
  const { status, headers } = response;
  const text = await response.text();
  const said = readRefusal(text);
  const seconds = headers.get('retry-after');
  return new MusterError({
    code: said?.code ?? null,
    status,
    message: said?.error ?? `The server answered ${status}: ${text.slice(0, 200)}`,
    retryAfter: seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : null,
  });
}

function readRefusal(text: string): { error: string; code: ErrorCode } | null {
  try {
    const { error, code } = JSON.parse(text) as { error?: unknown; code?: unknown };
    // a newer server may have codes that this version does not know: they are passed on
    return typeof error === 'string' && typeof code === 'string' && code.startsWith('MUSTER_')
      ? { error, code: code as ErrorCode }
      : null;
  } catch {
    return null;
  }
}
