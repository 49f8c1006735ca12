import { silentLog } from '@starloom/core';
import { adapterContract, ContractAgent, exampleManifest } from '@starloom/core/testing';
import { describe } from 'vitest';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { contractServer } from './fixtures/mcp-contract-server.ts';
import { serveModern, serveSessions, type TestServer } from './fixtures/mcp-http-server.ts';

async function subject(server: TestServer) {
  const manifest = exampleManifest({ endpoint: { transport: 'http', uri: server.uri } });
  const adapter = await createMcpAdapter({ manifest, log: silentLog });
  return { adapter, stopAgent: () => server.close(), close: () => server.close() };
}

describe('[G21][G22] an agent that speaks MCP', () => {
  adapterContract(
    'mcp over http, 2026-07-28',
    async () => subject(await serveModern(contractServer(new ContractAgent()))),
    { asks: true, waits: true, attachments: false },
  );
});

adapterContract(
  'mcp over http, 2025-11-25 with sessions',
  async () => subject(await serveSessions(contractServer(new ContractAgent()))),
  { asks: true, attachments: false },
);
