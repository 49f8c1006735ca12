// The manifests of the section on A2A, with the addresses of agents that run here.

import type { ManifestInput } from '@starloom/core';
import { ContractAgent } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ContractExecutor } from '../../packages/adapters/test/fixtures/a2a-executor.ts';
import {
  type A2aServerOptions,
  serveA2a,
} from '../../packages/adapters/test/fixtures/a2a-server.ts';
import { callWithEvents, connect } from '../support/connect.ts';
import { manifestsIn } from '../support/doc-manifests.ts';
import { startGateway } from '../support/start-gateway.ts';

async function serve(options: A2aServerOptions) {
  const server = await serveA2a(new ContractExecutor(new ContractAgent()), options);
  onTestFinished(() => server.close());
  return server;
}

function at(manifest: ManifestInput | undefined, addresses: Record<string, string>): ManifestInput {
  const text = Object.entries(addresses).reduce(
    (rest, [written, real]) => rest.replaceAll(written, real),
    JSON.stringify(manifest),
  );
  return JSON.parse(text);
}

describe('docs/agents-of-every-protocol.md, A2A', () => {
  it('shows manifests that work', async () => {
    const [travel, fast] = manifestsIn('A2A');
    let authorization: string | undefined;
    const plain = await serve({
      middleware: (request, _, next) => {
        authorization = request.headers.authorization;
        next();
      },
    });
    const grpc = await serve({ binding: 'GRPC' });
    const agents = [
      at(travel, { 'https://travel.example.com': plain.base }),
      at(fast, {
        'grpcs://travel.example.com:50051': `grpc://${grpc.grpc}`,
        'https://travel.example.com': grpc.base,
      }),
    ];
    const config = { telemetry: { log_level: 'warn' } };
    await using gateway = await startGateway({ agents, config, env: { TRAVEL_KEY: 'secret-key' } });
    await using client = await connect(gateway);
    for (const { agent_id } of agents) {
      const { result, events } = await callWithEvents(client, `${agent_id}.work`, {
        task: 'stream one two',
      });
      expect(result.content).toMatchObject([{ text: 'onetwo' }]);
      expect(events.map(({ type }) => type)).toContain('token');
    }
    expect(authorization).toBe('Bearer secret-key');
  });
});
