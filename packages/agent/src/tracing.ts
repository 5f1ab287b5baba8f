/**
 * Puts attempts into the traces of their actions. The agent itself has no dependencies: whoever starts it brings this, or
 * nothing.
 */
export interface AttemptTracing {
  /** The header `muster-traceparents` of an answer. */
  received(header: string): void;
  /** Returns what to call at its end. */
  began(id: string, attempt: number, name: string): (hasSucceeded: boolean) => void;
  /** For a request about the action. */
  traceparentOf(id: string): string | undefined;
  /** Its report was delivered. */
  delivered(id: string): void;
}
