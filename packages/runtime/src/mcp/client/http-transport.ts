import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { FabricError } from '@starloom/core';
import { boundedFetch } from './bounded-fetch.ts';
import type { ServerTransport } from './server-transport.ts';
import { traced } from './traced-message.ts';

export interface HttpTransportOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
}

/** An MCP server over HTTP, by the SDK's own transport. */
export class HttpTransport extends StreamableHTTPClientTransport implements ServerTransport {
  readonly failure: FabricError | undefined = undefined;

  constructor({ url, headers, maxMessageBytes }: HttpTransportOptions) {
    super(new URL(url), {
      requestInit: { headers: { ...headers } },
      fetch: boundedFetch(maxMessageBytes),
    });
  }

  override send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options?: Parameters<StreamableHTTPClientTransport['send']>[1],
  ): Promise<void> {
    return super.send(Array.isArray(message) ? message.map(traced) : traced(message), options);
  }
}
