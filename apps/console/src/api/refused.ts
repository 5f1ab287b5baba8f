/** A refusal: the server's own sentence, the code for programs and the id for its log. */
export class Refused extends Error {
  readonly code: string;
  readonly status: number;
  readonly requestId: string | null;
  /** True if asking again is useless; false for a temporary refusal, such as too many requests. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429;
  }

  constructor(message: string, code: string, status: number, requestId: string | null) {
    super(message);
    this.name = 'Refused';
    this.code = code;
    this.status = status;
    this.requestId = requestId;
  }
}

export async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text();
  const requestId = response.headers.get('x-request-id');
  try {
    const { error, code } = JSON.parse(text) as { error?: unknown; code?: unknown };
    if (typeof error === 'string' && typeof code === 'string')
      return new Refused(error, code, response.status, requestId);
  } catch {
    // answered by something in front of the server, usually a proxy
  }
  return new Refused(`The server answered ${response.status}.`, 'NO_REASON', response.status, requestId);
}
