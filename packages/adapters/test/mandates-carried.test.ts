import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLog } from '@starloom/core';
import { exampleEnvelope, exampleManifest } from '@starloom/core/testing';
import { expect, it } from 'vitest';
import { openAdapter } from '../src/index.ts';
import { readAdapterFacts } from './fixtures/adapter-facts.ts';

const MANDATE = 'a.mandate.token';

const CARRIERS = Object.entries(await readAdapterFacts()).flatMap(
  ([protocol, { mandateHeaders = [] }]) => mandateHeaders.map((options) => ({ protocol, options })),
);

it.each(CARRIERS)(
  '$protocol with $options carries the mandate of a call, and none without one',
  async ({ protocol, options }) => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      if (request.method === 'POST') seen.push(request.headers['x-agent-mandate']);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(request.url?.includes('agent-card') ? cardOf(request.headers.host) : '{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const uri = `http://127.0.0.1:${port}/`;
    const endpoint = {
      transport: 'http' as const,
      protocol,
      uri,
      headers: { 'X-API-KEY': 'k' },
      env: { RFC_PASSWORD: 'p' },
      options,
    };
    const manifest = exampleManifest({ endpoint });
    const adapter = await openAdapter({ manifest, log: silentLog });
    for (const mandate of [MANDATE, undefined]) {
      const signal = AbortSignal.timeout(5_000);
      const events = adapter.call(
        exampleEnvelope('work', {
          target: { agent_id: manifest.agent_id, capability: 'work' },
        } as never),
        { signal, log: silentLog, mandate },
      );
      // What the server answers is no answer of the protocol: only what was sent matters.
      await (async () => {
        for await (const _ of events);
      })().catch(() => {});
    }
    await adapter.close();
    server.closeAllConnections();
    server.close();
    expect(seen[0]).toBe(MANDATE);
    expect(seen.at(-1)).toBeUndefined();
  },
);

function cardOf(host = ''): string {
  const card = {
    name: 'a',
    description: 'a',
    version: '1',
    capabilities: {},
    skills: [{ id: 'work', name: 'work', description: 'w', tags: [] }],
    supportedInterfaces: [
      { url: `http://${host}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
  };
  return JSON.stringify(card);
}
