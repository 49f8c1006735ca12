import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openAdapter } from '@starloom/adapters';
import { type ManifestInput, MemoryRegistry } from '@starloom/core';
import { createObserver, Gateway, gatewayConfigSchema } from '@starloom/gateway';
import {
  createAuthenticator,
  createPskVerifier,
  generateKey,
  type Identity,
} from '@starloom/identity';

/** A key that any program may have. */
export const SHARED_KEY = generateKey();

/** A gateway of this process with the real adapters, open to anybody on loopback. */
export async function openGateway(
  manifests: readonly ManifestInput[],
  lines: string[] = [],
  identity?: Identity,
  otlp: string | null = null,
) {
  const observer = createObserver({
    level: 'debug',
    otlp,
    version: '0.0.0',
    times: { collectMs: 20, metricsMs: 500 },
    destination: { write: (line: string) => void lines.push(line) },
  });
  const registry = new MemoryRegistry(manifests);
  const shared = { key_id: 'shared', principal: 'desk', tier: 'local', scopes: ['*'] } as const;
  const gateway = new Gateway({
    config: gatewayConfigSchema.parse({ listen: { port: 0 } }),
    registry,
    openAdapter: (manifest) => openAdapter({ manifest, log: observer.log }),
    authenticator:
      identity?.authenticator ??
      createAuthenticator({
        psk: createPskVerifier([{ ...shared, key: SHARED_KEY }]),
        anonymous: true,
      }),
    identity,
    observer,
    version: '0.0.0',
    drainMs: 1_000,
  });
  const url = await gateway.listen();
  const client = new Client(
    { name: 'e2e', version: '0' },
    { versionNegotiation: { mode: 'auto' } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  return {
    url,
    registry,
    client,
    async call(args: Record<string, unknown>, meta?: Record<string, unknown>) {
      const params = { name: 'fabric.call', arguments: args, ...(meta && { _meta: meta }) };
      const { structuredContent } = await client.callTool(params);
      // biome-ignore lint/suspicious/noExplicitAny: tests read into payloads freely
      return structuredContent as any;
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await gateway.close();
      await observer.shutdown();
    },
  };
}
