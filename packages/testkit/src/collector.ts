import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';

/** A span as OTLP writes it in JSON, with attributes as one object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: Record<string, unknown>;
  readonly service: unknown;
}

export interface ReceivedLine {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly timeUnixNano: string;
  readonly severityText: string;
  readonly severityNumber: number;
  readonly body: { readonly stringValue: string };
  readonly attributes: Record<string, unknown>;
}

/** A metric as OTLP writes it: one of `sum`, `gauge` and `histogram`. */
export interface ReceivedMetric {
  readonly name: string;
  readonly description: string;
  readonly [type: string]: unknown;
}

export const KIND = { internal: 1, server: 2, client: 3, consumer: 5 } as const;

interface KeyValue {
  readonly key: string;
  readonly value: Record<string, unknown>;
}

type Attributed<T> = Omit<T, 'attributes'> & { readonly attributes: readonly KeyValue[] };
interface Sent {
  readonly resource: { readonly attributes: readonly KeyValue[] };
  readonly scopeSpans?: readonly { readonly spans: readonly Attributed<ReceivedSpan>[] }[];
  readonly scopeLogs?: readonly { readonly logRecords: readonly Attributed<ReceivedLine>[] }[];
  readonly scopeMetrics?: readonly { readonly metrics: readonly ReceivedMetric[] }[];
}

export class Collector implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  readonly lines: ReceivedLine[] = [];
  /** As they were sent last, by name. */
  readonly metrics = new Map<string, ReceivedMetric>();
  readonly paths: string[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  resource: Record<string, unknown> = {};
  status = 200;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', async (request, response) => {
      collector.paths.push(request.url ?? '');
      collector.headers.push(request.headers);
      const sent: Record<string, readonly Sent[]> = JSON.parse(await text(request));
      if (collector.status === 200)
        for (const one of Object.values(sent).flat()) collector.#take(one);
      response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async received(count: number): Promise<ReceivedSpan[]> {
    await vi.waitUntil(() => this.spans.length >= count, { timeout: 15_000, interval: 10 });
    return this.spans;
  }

  named(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take({ resource, scopeSpans = [], scopeLogs = [], scopeMetrics = [] }: Sent): void {
    this.resource = toObject(resource.attributes);
    const service = this.resource['service.name'];
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      this.spans.push({ ...span, attributes: toObject(span.attributes), service });
    }
    for (const line of scopeLogs.flatMap(({ logRecords }) => logRecords)) {
      this.lines.push({ ...line, attributes: toObject(line.attributes) });
    }
    for (const metric of scopeMetrics.flatMap(({ metrics }) => metrics)) {
      this.metrics.set(metric.name, metric);
    }
  }
}

function toObject(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
