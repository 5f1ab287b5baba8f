/** A broken promise, and the evidence. */
export interface Finding {
  /** Its number in docs/guarantees.md. */
  readonly promise: string;
  readonly actionId: string | null;
  readonly text: string;
  readonly history?: readonly unknown[];
}

export function finding(promise: `G${number}`, actionId: string | null, text: string): Finding {
  return { promise, actionId, text };
}
