import { FabricError, silentLog } from '@starloom/core';
import {
  type AdapterContractOptions,
  adapterContract,
  ContractAgent,
  exampleEnvelope,
  exampleManifest,
  type Misbehaviour,
} from '@starloom/core/testing';
import type { RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { createA2aAdapter } from '../src/a2a/adapter.ts';
import { ContractExecutor } from './fixtures/a2a-executor.ts';
import { type A2aServerOptions, serveA2a } from './fixtures/a2a-server.ts';

async function subject(
  options: A2aServerOptions,
  executor = new ContractExecutor(new ContractAgent()),
) {
  let how: Misbehaviour | undefined;
  const middleware: RequestHandler = (request, response, next) => {
    if (how === undefined || request.method !== 'POST') next();
    else MISBEHAVIOURS[how](request, response, next);
  };
  const server = await serveA2a(executor, { middleware, ...options });
  const origins = server.grpc === undefined ? [] : [`grpc://${server.grpc}`];
  const manifest = exampleManifest({
    endpoint: {
      transport: 'http',
      protocol: 'a2a',
      uri: server.base,
      options: { origins, poll_interval_ms: 100, max_result_bytes: 1_000_000 },
    },
  });
  return {
    adapter: createA2aAdapter({ manifest, log: silentLog }),
    stopAgent: () => server.close(),
    close: () => server.close(),
    misbehave: (given: Misbehaviour | undefined) => {
      how = given;
    },
  };
}

const MISBEHAVIOURS: Readonly<Record<Misbehaviour, RequestHandler>> = {
  garbage: (_, response) => void response.type('application/json').send('\u0000{]'),
  oversize: (_, response) => void response.type('application/json').send('x'.repeat(2_000_000)),
  refused: (_, response) => void response.status(401).send('who are you?'),
  hangs: () => {},
};

const ALL: AdapterContractOptions = { asks: true, waits: true, conversations: true, joins: true };
const OVER_HTTP: AdapterContractOptions = {
  ...ALL,
  misbehaves: ['garbage', 'oversize', 'refused', 'hangs'],
};

describe('[G21] an agent that speaks A2A', () => {
  adapterContract('a2a 1.0 over JSON-RPC', () => subject({ binding: 'JSONRPC' }), OVER_HTTP);
  adapterContract('a2a 1.0 over REST', () => subject({ binding: 'HTTP+JSON' }), OVER_HTTP);
  adapterContract('a2a 1.0 over gRPC', () => subject({ binding: 'GRPC' }), ALL);
});

describe('[G21] an agent that speaks A2A 0.3', () => {
  const version = '0.3';
  adapterContract('a2a 0.3 over JSON-RPC', () => subject({ version }), OVER_HTTP);
  adapterContract('a2a 0.3 over REST', () => subject({ version, binding: 'HTTP+JSON' }), OVER_HTTP);
  adapterContract('a2a 0.3 over gRPC', () => subject({ version, binding: 'GRPC' }), ALL);
});

describe('[G21] an A2A agent that does not stream', () => {
  const polled = { toolCalls: false, progress: false, artifacts: 'whole' as const };
  adapterContract('a2a 1.0 over JSON-RPC, polled', () => subject({ streaming: false }), {
    ...OVER_HTTP,
    ...polled,
  });
  adapterContract('a2a 1.0, notified', () => subject({ streaming: false, push: true }), {
    ...ALL,
    ...polled,
    webhooks: true,
  });
});

describe('calls of an A2A agent that are left at random', () => {
  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'leave no task running over %s',
    async (binding) => {
      const executor = new ContractExecutor(new ContractAgent());
      const { adapter, close } = await subject({ binding }, executor);
      const left = Array.from({ length: 60 }, async (_, index) => {
        const control = new AbortController();
        const reason = new FabricError('CANCELLED', 'Never mind');
        setTimeout(() => control.abort(reason), (index * 37) % 100);
        const context = { signal: control.signal, log: silentLog };
        const events = adapter.call(exampleEnvelope(index % 3 ? 'hang' : 'echo hello'), context);
        return await Array.fromAsync(events).catch((error: unknown) => error);
      });
      await Promise.all(left);
      await adapter.close();
      await expect.poll(() => executor.running).toBe(0);
      await close();
    },
  );
});
