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
}

export const KIND = { server: 2, client: 3 } as const;

interface KeyValue {
  readonly key: string;
  readonly value: Record<string, unknown>;
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & {
        readonly attributes: readonly KeyValue[];
      })[];
    }[];
  }[];
}

/** An OTLP/HTTP collector on loopback. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
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
      const body = await text(request);
      if (collector.status === 200) collector.#take(JSON.parse(body) as ExportRequest);
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

  #take({ resourceSpans }: ExportRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resource = toObject(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({ ...span, attributes: toObject(span.attributes) });
      }
    }
  }
}

function toObject(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
