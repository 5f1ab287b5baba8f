import { diag, type Link, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
} from '@opentelemetry/sdk-trace-base';
import type { TraceSettings } from './settings.ts';
import type { TraceContext } from './trace-ids.ts';

/** A span that is over. Times are milliseconds since 1970. */
export interface Span {
  readonly name: string;
  readonly kind: 'server' | 'internal' | 'database' | 'consumer';
  readonly traceId: string;
  /** Its own id, if others had to know it before it was over. */
  readonly spanId?: string | undefined;
  /** Undefined: the first of its trace. */
  readonly parent?: string | undefined;
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, string | number | readonly string[]>>;
  readonly links?: readonly TraceContext[];
  readonly hasFailed?: boolean;
}

export interface Tracer {
  add(span: Span): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

const SEND_AFTER_MS = 1_000;
/** A stop does not wait longer for a collector that does not answer. */
const ANSWER_MS = 3_000;
const WARN_AGAIN_MS = 60_000;
const MOST_CHARACTERS = 300;
const KINDS = {
  server: SpanKind.SERVER,
  internal: SpanKind.INTERNAL,
  database: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
};
const sampled = ({ traceId, spanId }: TraceContext) => ({ traceId, spanId, traceFlags: 1, isRemote: true });

/** Loaded only where traces are on: OpenTelemetry takes 50 to 130 ms to load. */
export function openTracer(
  { url, headers }: TraceSettings,
  of: { readonly service: string; readonly version: string; readonly instance: string },
  onError: (sentence: string) => void,
): Tracer {
  const ids = new GivenIds();
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = (...what: unknown[]) => {
    if (performance.now() - warnedAt < WARN_AGAIN_MS) return;
    warnedAt = performance.now();
    onError(plainly(what));
  };
  const silent = () => {};
  const logger = { error: warn, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { suppressOverrideMessage: true });
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: ANSWER_MS });
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': of.service,
      'service.version': of.version,
      'service.instance.id': of.instance,
    }),
    // what waits is bounded: 2,048 spans, and further ones are dropped
    spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: SEND_AFTER_MS })],
  });
  const tracer = provider.getTracer('muster', of.version);
  return {
    add({ attributes, from, hasFailed, kind, links = [], name, parent, spanId, to, traceId }) {
      const context = parent
        ? trace.setSpanContext(ROOT_CONTEXT, sampled({ traceId, spanId: parent }))
        : ROOT_CONTEXT;
      ids.next = { traceId, spanId };
      const options = {
        attributes: attributes as Record<string, string | number | string[]>,
        kind: KINDS[kind],
        links: links.map((link): Link => ({ context: sampled(link) })),
        startTime: from,
      };
      const span = tracer.startSpan(name, options, context);
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(to);
    },
    async close() {
      const patience = new Promise<void>((resolve) => setTimeout(resolve, ANSWER_MS).unref());
      await Promise.race([provider.shutdown().catch(warn), patience]);
      diag.disable();
    },
  };
}

/** OpenTelemetry hands over texts, errors, and errors as JSON with their stacks. */
export function plainly(what: readonly unknown[]): string {
  const reasons = what.map((one) => {
    const error = one instanceof Error ? one : errorIn(String(one));
    const [first] = error instanceof AggregateError ? error.errors : [error];
    return first instanceof Error ? first.message || first.name : String(first);
  });
  return reasons
    .join(' ')
    .replace(/\s+/g, ' ')
    .replace(/[.\s]+$/, '')
    .slice(0, MOST_CHARACTERS);
}

function errorIn(text: string): unknown {
  try {
    const { code, message, name } = JSON.parse(text);
    return message ?? code ?? name ?? text;
  } catch {
    return text;
  }
}

/** Ids that are known before their span is made. */
class GivenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  next: { readonly traceId: string; readonly spanId?: string | undefined } | null = null;

  generateTraceId(): string {
    return this.next?.traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.next?.spanId ?? this.#random.generateSpanId();
  }
}
