import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { AttemptTracing } from '@muster/agent';
import { VERSION } from '../http/version.ts';
import { readTraceSettings } from './settings.ts';
import { readTraceparents, type TraceContext, writeTraceparent } from './trace-ids.ts';
import type { Tracer } from './tracer.ts';

/** For agents and runners: an attempt is a span in the trace of its action, and its report is part of it. */
export async function openAgentTracing(
  program: string,
  onError: (sentence: string) => void,
  environment?: Record<string, string | undefined>,
): Promise<(AttemptTracing & { close(): Promise<void> }) | null> {
  const settings = readTraceSettings(environment);
  if (!settings) return null;
  const { openTracer } = await import('./tracer.ts');
  const of = { service: `muster-${program}`, version: VERSION, instance: hostname() };
  const warn = (sentence: string) => onError(`Traces could not be sent: ${sentence}.`);
  return new AgentTracing(openTracer(settings, of, warn));
}

/** Answers name more actions than this one ever runs: what it queued itself, what another instance holds. */
const MOST_KNOWN = 10_000;

class AgentTracing implements AttemptTracing {
  readonly #tracer: Tracer;
  /** By action: the span of the request that it came with, then that of its attempt here. */
  readonly #known = new Map<string, TraceContext>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  received(header: string): void {
    for (const [id, context] of readTraceparents(header)) {
      if (this.#known.size >= MOST_KNOWN) this.#known.delete(this.#known.keys().next().value as string);
      this.#known.set(id, context);
    }
  }

  began(id: string, attempt: number, name: string): (hasSucceeded: boolean) => void {
    const came = this.#known.get(id);
    if (!came) return () => {};
    const from = performance.timeOrigin + performance.now();
    const spanId = randomBytes(8).toString('hex');
    return (hasSucceeded) => {
      this.#known.set(id, { traceId: came.traceId, spanId });
      this.#tracer.add({
        name,
        kind: 'consumer',
        traceId: came.traceId,
        spanId,
        parent: came.spanId,
        from,
        to: performance.timeOrigin + performance.now(),
        attributes: { 'muster.action.id': id, 'muster.action.attempt': attempt },
        hasFailed: !hasSucceeded,
      });
    };
  }

  traceparentOf(id: string): string | undefined {
    const context = this.#known.get(id);
    return context && writeTraceparent(context);
  }

  delivered(id: string): void {
    this.#known.delete(id);
  }

  close(): Promise<void> {
    return this.#tracer.close();
  }
}
