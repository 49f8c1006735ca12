import type { Log } from '@starloom/core';
import type { AgentTransport } from './agent-transport.ts';
import { HttpEndpoint, type HttpEndpointOptions } from './http-endpoint.ts';
import { HttpClientTransport } from './http-transport.ts';
import { StdioClientTransport, type StdioTransportOptions } from './stdio-transport.ts';

/** Makes the transports to one server, one after the other, and keeps what they share. */
export interface TransportSource {
  create(): AgentTransport;
  close(): Promise<void>;
}

export interface HttpTransportsOptions extends HttpEndpointOptions {
  readonly log: Log;
}

export function httpTransports({ log, ...options }: HttpTransportsOptions): TransportSource {
  const endpoint = new HttpEndpoint(options);
  return {
    create: () => new HttpClientTransport({ endpoint, log }),
    close: () => endpoint.close(),
  };
}

/** Each starts a process. */
export function stdioTransports(options: StdioTransportOptions): TransportSource {
  return { create: () => new StdioClientTransport(options), close: async () => {} };
}
