import { silentLog } from '@starloom/core';
import { adapterContract, ContractAgent, exampleManifest } from '@starloom/core/testing';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { contractServer } from './fixtures/mcp-contract-server.ts';
import { serveChild } from './fixtures/mcp-stdio-server.ts';

for (const [era, revision] of [
  ['modern', '2026-07-28'],
  ['legacy', '2025-11-25'],
] as const) {
  adapterContract(
    `mcp over stdio, ${revision}`,
    async () => {
      const child = await serveChild(contractServer(new ContractAgent()), era);
      const manifest = exampleManifest({ endpoint: child.endpoint });
      const adapter = await createMcpAdapter({ manifest, log: silentLog });
      return {
        adapter,
        stopAgent: async () => {
          await child.remove();
          await child.kill();
        },
        close: () => child.close(),
      };
    },
    { asks: true, waits: era === 'modern', attachments: false },
  );
}
