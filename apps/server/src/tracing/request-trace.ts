import { randomBytes } from 'node:crypto';
import type { TraceContext } from './trace-ids.ts';

/** The traced actions that one request queued, got or reported, and when it was woken for them. */
export class RequestTrace {
  /** With the span that the request will be in the trace of each. */
  readonly actions = new Map<string, TraceContext & { readonly root: string }>();
  wokenAt: number | null = null;

  add(actionId: string, { traceId, spanId: root }: TraceContext): void {
    if (this.actions.size >= MOST || this.actions.has(actionId)) return;
    this.actions.set(actionId, { traceId, root, spanId: randomBytes(8).toString('hex') });
  }
}

/** A request may queue a thousand actions: the traces of the others begin with its statement. */
const MOST = 20;
