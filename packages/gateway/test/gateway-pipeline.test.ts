import { manifestSchema } from '@starloom/core';
import { MemoryAdapter, MemoryRegistry } from '@starloom/core/testing';
import { createAuthenticator, createPskVerifier, LOCAL_PRINCIPAL } from '@starloom/identity';
import { expect, it } from 'vitest';
import { createPipeline } from '../src/gateway-pipeline.ts';
import { createObserver, gatewayConfigSchema } from '../src/index.ts';
import { runCall } from '../src/pipeline/call.ts';
import { answers } from './test-gateway.ts';

it('serves a call without any face or transport', async () => {
  const observer = createObserver({ level: 'silent', otlp: null, version: '0.0.0' });
  const percy = {
    agent_id: 'percy',
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1' },
    capabilities: [{ name: 'reason' }],
  };
  const pipeline = createPipeline(
    {
      config: gatewayConfigSchema.parse({}),
      registry: new MemoryRegistry([manifestSchema.parse(percy)]),
      openAdapter: async (manifest) => new MemoryAdapter(manifest, answers('well')),
      authenticator: createAuthenticator({ psk: createPskVerifier([]), anonymous: true }),
      observer,
      version: '0.0.0',
    },
    () => {},
  );
  const request = {
    capability: 'reason',
    task: 'think',
    context: {},
    attachments: [],
    stream: false,
    format: 'text',
  } as const;
  const { signal } = new AbortController();
  const outcome = await runCall(
    { ...request, attachments: [] },
    {
      principal: LOCAL_PRINCIPAL,
      headers: {},
      meta: {},
      transport: 'stdio',
      tool: 'fabric.call',
      signal,
      cut: () => {},
    },
    pipeline.deps,
  );
  expect(outcome).toMatchObject({
    ok: true,
    dispatched: { agent_id: 'percy', capability: 'reason', result: { answer: 'well' } },
  });
  pipeline.stopWatching();
  await pipeline.close();
  await observer.shutdown();
});
