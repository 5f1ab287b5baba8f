/** One JSON object per line, one command per connection. */
export interface ToServer {
  readonly command: string;
  readonly args: unknown;
}

export type FromServer =
  | { readonly say: string }
  | { readonly note: string }
  | { readonly data: string }
  /** The exit code. */
  | { readonly end: number }
  /** With code and status if it is a refusal, as over HTTP. */
  | { readonly error: string; readonly code?: string; readonly status?: number };
