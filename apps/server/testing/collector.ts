import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector of traces: takes OTLP over HTTP in JSON, and keeps every span with the service that sent it. */
export interface CollectedSpan {
  readonly service: string;
  readonly instance: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: string | null;
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly string[];
  readonly hasFailed: boolean;
}

export async function collector() {
  const spans: CollectedSpan[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    headers.push(request.headers);
    spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString())));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    spans,
    headers,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
function spansOf({ resourceSpans }: any): CollectedSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) => {
    const of = valuesOf(resource.attributes);
    // biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
    return scopeSpans.flatMap(({ spans }: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
      spans.map((span: any) => ({
        service: of['service.name'],
        instance: of['service.instance.id'],
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parent: span.parentSpanId || null,
        from: Number(span.startTimeUnixNano),
        to: Number(span.endTimeUnixNano),
        attributes: valuesOf(span.attributes),
        // biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
        links: (span.links ?? []).map((link: any) => link.traceId),
        hasFailed: span.status?.code === 2,
      })),
    );
  });
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
const valuesOf = (attributes: any[]) =>
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
  Object.fromEntries(attributes.map(({ key, value }: any) => [key, plain(value)]));

// biome-ignore lint/suspicious/noExplicitAny: the JSON of OTLP
const plain = (value: any): unknown =>
  value.arrayValue ? value.arrayValue.values.map(plain) : Object.values(value)[0];
